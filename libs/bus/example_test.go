package bus_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// An operator publishes observations; a reader gets the latest observation of each object, then
// new ones.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	srv, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, JetStreamMaxStore: 4 << 30, StoreDir: dir, NoLog: true, NoSigs: true})
	if err != nil {
		panic(err)
	}
	srv.Start()
	defer srv.Shutdown()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv.ReadyForConnections(time.Minute)
	conn, err := bus.Connect(bus.Config{URL: srv.ClientURL(), Name: "superset-operator"})
	if err != nil {
		panic(err)
	}
	defer conn.Close(context.Background())
	if err := bus.Bootstrap(ctx, conn.JetStream(), bus.DefaultParams()); err != nil {
		panic(err)
	}

	// The operator: offers never block; a background sender publishes them.
	publisher := bus.NewPublisher(conn)
	me := contract.Observer{Name: "superset-operator", Instance: "pod-0"}
	observations := bus.NewObservationPublisher(publisher, "prod", me, func() int64 { return 1700000000000 })
	go publisher.Run(ctx)

	gvk, _ := contract.Lookup(contract.Superset)
	observations.Publish(contract.Superset, contract.Observation{
		Object:    contract.Object{GroupVersionKind: gvk, Namespace: "team-a", Name: "main", UID: "1f0c", Generation: 1},
		Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
		Phase:     "Running",
	})

	// The reader.
	done, stop := context.WithCancel(ctx)
	err = bus.Tail(done, conn.JetStream(), bus.TailConfig{
		Stream: contract.StreamObservations,
		OnMessage: func(d bus.Delivery) {
			_, o, err := contract.Decode[contract.Observation](d.Data)
			if err != nil {
				panic(err)
			}
			fmt.Println(d.Subject)
			fmt.Println(o.Object.Name, o.Phase, o.Epoch, o.Seq)
			stop()
		},
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// flotilla.obs.v1.prod.team-a.superset.main.superset-operator
	// main Running 1700000000000 1
}
