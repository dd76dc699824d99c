package bus_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// A paused consumer sends heartbeats and delivers nothing, as one does whose server is stuck.
func TestTailRestartsOnRequest(t *testing.T) {
	_, c := bootstrapped(t)
	restart := make(chan struct{}, 1)
	f := followWith(t, c, bus.TailConfig{Stream: contract.StreamObservations, Restart: restart}, func() {})
	publish(t, c, subject(1), "1", nil)
	f.want(t, map[string]string{subject(1): "1"}, 1)
	for _, name := range consumers(t, c) {
		until := time.Now().Add(time.Hour)
		if _, err := c.JetStream().PauseConsumer(t.Context(), contract.StreamObservations, name, until); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, c, subject(1), "2", nil)
	restart <- struct{}{}
	f.want(t, map[string]string{subject(1): "2"}, 2)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.interrupts != 1 || f.restarts != 1 {
		t.Errorf("%d interruptions and %d restarts, want one of each", f.interrupts, f.restarts)
	}
}

// A request while the stream is missing is satisfied by the next session.
func TestTailRestartsOnceAfterRequestDuringInterruption(t *testing.T) {
	_, c := bootstrapped(t)
	restart := make(chan struct{}, 1)
	f := followWith(t, c, bus.TailConfig{Stream: contract.StreamObservations, Restart: restart}, func() {})
	f.want(t, map[string]string{}, 1)
	if err := c.JetStream().DeleteStream(t.Context(), contract.StreamObservations); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.complete {
			return errors.New("the session has not ended")
		}
		return nil
	})
	restart <- struct{}{}
	bootstrap(t, c)
	f.want(t, map[string]string{}, 2)
	publish(t, c, subject(1), "1", nil)
	f.want(t, map[string]string{subject(1): "1"}, 2)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.restarts != 1 {
		t.Errorf("%d restarts, want one", f.restarts)
	}
}
