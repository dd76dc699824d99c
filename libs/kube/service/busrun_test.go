package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// A server that is reached before a callback is registered must not cost the minute
// until the streams are checked again: the fake clock does not advance.
func TestStreamsAreCreatedWithoutConnectCallback(t *testing.T) {
	conn, err := bus.Connect(bus.Config{URL: natstest.Start(t).URL(), Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error {
		if !conn.Connected() {
			return errors.New("not connected")
		}
		return nil
	})
	b := &busRun{
		conn: conn, options: Options{BusBootstrap: true}, log: logr.Discard(),
		clock: clocktesting.NewFakeClock(time.Now()), connected: make(chan struct{}, 1),
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- b.watchAssets(ctx) }()
	expect.Eventually(t, expect.Long, func() error {
		_, err := conn.JetStream().Stream(t.Context(), contract.StreamObservations)
		return err
	})
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if err := conn.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}
