package bus_test

import (
	"fmt"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// An offer costs the caller one map write, with or without a server.
func BenchmarkEnqueue(b *testing.B) {
	conn, err := bus.Connect(bus.Config{URL: "nats://127.0.0.1:1", Name: "tester"})
	if err != nil {
		b.Fatal(err)
	}
	p := bus.NewPublisher(conn)
	subjects := make([]string, 10_000)
	for i := range subjects {
		subjects[i] = subject(i)
	}
	build := text("id", "body")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		p.Enqueue(subjects[i%len(subjects)], build)
	}
}

// An observation without a change is compared and dropped.
func BenchmarkPublishObservation(b *testing.B) {
	conn, err := bus.Connect(bus.Config{URL: "nats://127.0.0.1:1", Name: "tester"})
	if err != nil {
		b.Fatal(err)
	}
	o := bus.NewObservationPublisher(bus.NewPublisher(conn), "prod", me, nil)
	equal := observation("a", "Running")
	for i := range 6 {
		equal.Units = append(equal.Units, contract.Unit{Name: fmt.Sprint(i), Kind: "Deployment", Role: contract.Serving})
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Publish(contract.Superset, equal)
	}
}
