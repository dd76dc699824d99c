package bus_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

func TestMessagesAreConflatedDuringOutage(t *testing.T) {
	srv := natstest.Start(t)
	srv.Stop()
	c := connect(t, srv.URL())
	p := bus.NewPublisher(c.Conn)
	stop := running(t, p.Run)

	const subjects, rounds = 20, 50
	want := map[string]string{}
	for round := range rounds {
		for i := range subjects {
			body := fmt.Sprintf("%d-%d", i, round)
			p.Enqueue(subject(i), text(body, body))
			want[subject(i)] = body
		}
	}
	if got := p.Depth(); got != subjects {
		t.Errorf("%d subjects wait, want %d", got, subjects)
	}
	srv.Start()
	bootstrap(t, c)
	wantStored(t, c, want)
	eventually(t, func() error {
		if p.Depth() != 0 || c.metric(t, "flotilla_bus_outbox_depth") != 0 {
			return fmt.Errorf("%d subjects still wait", p.Depth())
		}
		return nil
	})
	if got := streamState(t, c, contract.StreamObservations).LastSeq; got != subjects {
		t.Errorf("%d messages were stored, want %d", got, subjects)
	}
	if got, want := c.metric(t, "flotilla_bus_coalesced_total"), float64(subjects*(rounds-1)); got != want {
		t.Errorf("coalesced_total is %v, want %v", got, want)
	}
	stop()
}

// With content hashes as ids the second A would be dropped as a duplicate of the first.
func TestPublisherSendsRepeatedValue(t *testing.T) {
	_, c := bootstrapped(t)
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	for n, body := range []string{"A", "B", "A"} {
		p.Enqueue(subject(1), text(fmt.Sprintf("id-%d", n), body))
		wantStored(t, c, map[string]string{subject(1): body})
	}
	if got := streamState(t, c, contract.StreamObservations).LastSeq; got != 3 {
		t.Errorf("%d messages were stored, want 3", got)
	}
}

func TestPublisherAcceptsDuplicateID(t *testing.T) {
	_, c := bootstrapped(t)
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	p.Enqueue(subject(1), text("same", "A"))
	wantStored(t, c, map[string]string{subject(1): "A"})
	p.Enqueue(subject(1), text("same", "A"))
	eventually(t, func() error {
		if c.published(t, "duplicate") != 1 || p.Depth() != 0 {
			return fmt.Errorf("%d duplicates, depth %d", c.published(t, "duplicate"), p.Depth())
		}
		return nil
	})
	if got := c.metric(t, "flotilla_bus_stream_resets_total"); got != 0 {
		t.Errorf("a duplicate was reported as a stream reset")
	}
}

func TestPublisherKeepsOrderOfSubject(t *testing.T) {
	_, c := bootstrapped(t)
	js := c.JetStream()
	if _, err := js.UpdateStream(t.Context(), retainAll(t, js)); err != nil {
		t.Fatal(err)
	}
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	const subjects, rounds = 8, 200
	var writers sync.WaitGroup
	for i := range subjects {
		writers.Go(func() {
			for n := range rounds {
				p.Enqueue(subject(i), text(fmt.Sprintf("%d-%d", i, n), fmt.Sprintf("%06d", n)))
			}
		})
	}
	writers.Wait()
	want := map[string]string{}
	for i := range subjects {
		want[subject(i)] = fmt.Sprintf("%06d", rounds-1)
	}
	wantStored(t, c, want)

	last := map[string]string{}
	for _, m := range natstest.Messages(t, js, contract.StreamObservations) {
		if body := string(m.Data); body <= last[m.Subject] {
			t.Errorf("%s got %s after %s", m.Subject, body, last[m.Subject])
		}
		last[m.Subject] = string(m.Data)
	}
}

// retainAll returns the configuration of the stream of observations that keeps every message.
func retainAll(t *testing.T, js jetstream.JetStream) jetstream.StreamConfig {
	t.Helper()
	stream, err := js.Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.MaxMsgsPerSubject = -1
	return cfg
}

func TestPublisherResendsUnacknowledgedAfterReconnect(t *testing.T) {
	srv, c := bootstrapped(t)
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	var resets atomic.Int32
	p.OnReset(func() { resets.Add(1) })
	for round := range 3 {
		want := map[string]string{}
		for i := range 10 {
			body := fmt.Sprintf("%d-%d", i, round)
			want[subject(i)] = body
			if i == 5 {
				srv.Stop()
			}
			p.Enqueue(subject(i), text(body, body))
		}
		srv.Start()
		wantStored(t, c, want)
	}
	if resets.Load() != 0 {
		t.Errorf("a restart was reported %d times as a stream reset", resets.Load())
	}
}

func TestPublisherDetectsLostStream(t *testing.T) {
	tests := map[string]struct {
		lose func(t *testing.T, srv *natstest.Server, c client)
	}{
		"the server lost its disk": {func(t *testing.T, srv *natstest.Server, c client) {
			t.Helper()
			srv.Wipe()
			bootstrap(t, c)
		}},
		"the stream was deleted": {func(t *testing.T, _ *natstest.Server, c client) {
			t.Helper()
			if err := c.JetStream().DeleteStream(t.Context(), contract.StreamObservations); err != nil {
				t.Fatal(err)
			}
			bootstrap(t, c)
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			srv, c := bootstrapped(t)
			p := bus.NewPublisher(c.Conn, bus.WithStreamCheck(50*time.Millisecond))
			var rounds atomic.Int32
			want := map[string]string{}
			enqueueAll := func() {
				round := rounds.Add(1)
				for i := range 10 {
					p.Enqueue(subject(i), text(fmt.Sprintf("%d-%d", i, round), fmt.Sprint(i)))
				}
			}
			for i := range 10 {
				want[subject(i)] = fmt.Sprint(i)
			}
			p.OnReset(enqueueAll)
			running(t, p.Run)
			enqueueAll()
			wantStored(t, c, want)
			// Wait for the first check: later checks compare with its result.
			eventually(t, func() error {
				if c.metric(t, "flotilla_bus_outbox_depth") != 0 {
					return fmt.Errorf("still sending")
				}
				return nil
			})
			tc.lose(t, srv, c)
			wantStored(t, c, want)
			if got := c.metric(t, "flotilla_bus_stream_resets_total"); got < 1 {
				t.Errorf("stream_resets_total is %v, want 1 or more", got)
			}
		})
	}
}

func TestPublisherWaitsForStream(t *testing.T) {
	srv := natstest.Start(t)
	c := connect(t, srv.URL())
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	p.Enqueue(subject(1), text("1", "A"))
	eventually(t, func() error {
		if c.published(t, "no_stream") == 0 {
			return fmt.Errorf("not tried yet")
		}
		return nil
	})
	bootstrap(t, c)
	wantStored(t, c, map[string]string{subject(1): "A"})
}

func TestPublisherSkipsInvalidMessage(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	tests := map[string]func() (bus.Message, error){
		"too large for the stream": text("big", strings.Repeat("x", contract.MaxMessageBytes+1)),
		"too large for the server": text("huge", strings.Repeat("x", 2<<20)),
		"impossible to build":      func() (bus.Message, error) { return bus.Message{}, fmt.Errorf("broken") },
		"not to be built yet":      func() (bus.Message, error) { return bus.Message{}, bus.ErrNotReady },
		"slow to build": func() (bus.Message, error) {
			<-blocked
			return bus.Message{}, fmt.Errorf("too late")
		},
	}
	_, c := bootstrapped(t)
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	n := 0
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			n++
			p.Enqueue(subject(100+n), build)
			body := fmt.Sprint(n)
			p.Enqueue(subject(n), text("ok-"+body, body))
			wantStored(t, c, map[string]string{subject(n): body})
		})
	}
	eventually(t, func() error {
		if got := c.published(t, "invalid"); got != 3 {
			return fmt.Errorf("%d invalid", got)
		}
		return nil
	})
}

func TestPublisherRetriesMessageBuild(t *testing.T) {
	_, c := bootstrapped(t)
	p := bus.NewPublisher(c.Conn)
	running(t, p.Run)
	tries := 0
	p.Enqueue(subject(1), func() (bus.Message, error) {
		if tries++; tries < 3 {
			return bus.Message{}, fmt.Errorf("%w: not ready", bus.ErrNotReady)
		}
		return bus.Message{ID: "1", Body: []byte("A")}, nil
	})
	wantStored(t, c, map[string]string{subject(1): "A"})
}

func TestPublisherLeaksNoGoroutines(t *testing.T) {
	srv := natstest.Start(t)
	conn, err := bus.Connect(bus.Config{URL: srv.URL(), Name: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	p := bus.NewPublisher(conn)
	stop := running(t, p.Run)
	for i := range 100 {
		p.Enqueue(subject(i), text(fmt.Sprint(i), "no stream takes this"))
	}
	srv.Stop()
	stop()
	closeNow(t, conn)
	wantNoLeaks(t)
}
