package bus_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// The last message of a snapshot expires, or a reader purges it, after the ones before it were delivered.
func TestTailCompletesSnapshotWithoutRemovedMessage(t *testing.T) {
	_, c := bootstrapped(t)
	const pulled = 2000 // messages that the server delivers before the first one is read
	for i := range pulled + 1 {
		if _, err := c.JetStream().PublishAsync(subject(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	<-c.JetStream().PublishAsyncComplete()
	removed := make(chan struct{})
	clk := clocktesting.NewFakeClock(time.Now())
	f := followWith(t, c, bus.TailConfig{Stream: contract.StreamObservations, Clock: clk}, func() { <-removed })
	eventually(t, func() error {
		for _, info := range consumerInfos(t, c) {
			if info.Delivered.Consumer == pulled {
				return nil
			}
		}
		return fmt.Errorf("the server has not delivered %d messages yet", pulled)
	})
	stream, err := c.JetStream().Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), pulled+1); err != nil {
		t.Fatal(err)
	}
	close(removed)
	eventually(t, func() error {
		f.mu.Lock()
		restarts, snapshots, subjects := f.restarts, f.snapshots, len(f.model)
		f.mu.Unlock()
		if restarts == 0 {
			clk.Step(time.Second)
		}
		if snapshots != 1 || subjects != pulled {
			return fmt.Errorf("%d snapshots and %d subjects, want 1 and %d", snapshots, subjects, pulled)
		}
		return nil
	})
}

func consumerInfos(t *testing.T, c client) []*jetstream.ConsumerInfo {
	t.Helper()
	stream, err := c.JetStream().Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	list := stream.ListConsumers(t.Context())
	var infos []*jetstream.ConsumerInfo
	for info := range list.Info() {
		infos = append(infos, info)
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return infos
}
