package bus_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// follower keeps what a tail delivers.
type follower struct {
	mu         sync.Mutex
	model      map[string]string // subject to body
	deleted    map[string]bool   // by subject
	log        []string
	snapshots  int
	complete   bool // since the last interruption
	restarts   int
	interrupts int
	recreated  int
}

func follow(t *testing.T, c client, stream string, filters ...string) *follower {
	t.Helper()
	return followWith(t, c, bus.TailConfig{Stream: stream, Filters: filters}, func() {})
}

// followWith follows with a configuration; it calls before ahead of each message.
func followWith(t *testing.T, c client, cfg bus.TailConfig, before func()) *follower {
	t.Helper()
	f := &follower{model: map[string]string{}, deleted: map[string]bool{}}
	cfg = bus.TailConfig{
		Stream: cfg.Stream, Filters: cfg.Filters, Clock: cfg.Clock, Restart: cfg.Restart,
		OnMessage: func(d bus.Delivery) {
			before()
			f.mu.Lock()
			defer f.mu.Unlock()
			f.log = append(f.log, fmt.Sprintf("%s=%s %t", d.Subject[strings.LastIndex(d.Subject, ".s")+1:], d.Data, d.Snapshot))
			delete(f.model, d.Subject)
			if d.Deleted {
				f.deleted[d.Subject] = true
				return
			}
			f.model[d.Subject] = string(d.Data)
		},
		OnSnapshot:  func() { f.mu.Lock(); f.snapshots++; f.complete = true; f.mu.Unlock() },
		OnInterrupt: func() { f.mu.Lock(); f.interrupts++; f.complete = false; f.mu.Unlock() },
		OnRestart: func(recreated bool) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.restarts++
			if recreated {
				f.recreated++
				f.model = map[string]string{}
			}
		},
	}
	running(t, func(ctx context.Context) error { return bus.Tail(ctx, c.JetStream(), cfg) })
	return f
}

func (f *follower) want(t *testing.T, want map[string]string, snapshots int) {
	t.Helper()
	eventually(t, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if fmt.Sprint(f.model) != fmt.Sprint(want) || f.snapshots < snapshots {
			return fmt.Errorf("%d snapshots and %v, want %d and %v", f.snapshots, f.model, snapshots, want)
		}
		return nil
	})
}

func publish(t *testing.T, c client, subject, body string, header map[string][]string) {
	t.Helper()
	eventually(t, func() error {
		_, err := c.Publish(t.Context(), bus.Message{Subject: subject, Body: []byte(body), Header: header})
		return err
	})
}

func TestTailDeliversSnapshotThenFollows(t *testing.T) {
	_, c := bootstrapped(t)
	for round := range 2 {
		for i := range 3 {
			publish(t, c, subject(i), fmt.Sprintf("%d%d", i, round), nil)
		}
	}
	f := follow(t, c, contract.StreamObservations)
	f.want(t, map[string]string{subject(0): "01", subject(1): "11", subject(2): "21"}, 1)
	publish(t, c, subject(1), "12", nil)
	f.want(t, map[string]string{subject(0): "01", subject(1): "12", subject(2): "21"}, 1)
	want := "[s0.tester=01 true s1.tester=11 true s2.tester=21 true s1.tester=12 false]"
	if got := fmt.Sprint(f.log); got != want {
		t.Errorf("deliveries are %s, want %s", got, want)
	}
}

func TestTailCompletesAtOnceOnEmptyStream(t *testing.T) {
	_, c := bootstrapped(t)
	follow(t, c, contract.StreamObservations).want(t, map[string]string{}, 1)
}

func TestTailDeliversOnlyMatchingSubjects(t *testing.T) {
	_, c := bootstrapped(t)
	for i := range 4 {
		publish(t, c, subject(i), fmt.Sprint(i), nil)
	}
	f := follow(t, c, contract.StreamObservations, subject(1), subject(3))
	f.want(t, map[string]string{subject(1): "1", subject(3): "3"}, 1)
}

// A stream of an earlier release has markers in place of expired messages.
func TestTailDistinguishesExpiredFromEmptyMessage(t *testing.T) {
	_, c := bootstrapped(t)
	s, err := c.JetStream().Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.SubjectDeleteMarkerTTL, cfg.AllowRollup = 10*time.Minute, true
	if _, err := c.JetStream().UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	f := follow(t, c, contract.StreamObservations)
	publish(t, c, subject(1), "short-lived", map[string][]string{"Nats-TTL": {"1"}})
	publish(t, c, subject(2), "", nil)
	f.want(t, map[string]string{subject(2): ""}, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.deleted[subject(1)] || f.deleted[subject(2)] {
		t.Errorf("deleted are %v, want only %s", f.deleted, subject(1))
	}
}

func TestTailSurvivesFaults(t *testing.T) {
	tests := map[string]struct {
		fault     func(t *testing.T, c client, stop, start, wipe func())
		recreated bool
	}{
		"a restart of the server": {func(_ *testing.T, _ client, stop, start, _ func()) { stop(); start() }, false},
		"the loss of all data": {func(t *testing.T, c client, _, _, wipe func()) {
			t.Helper()
			wipe()
			bootstrap(t, c)
		}, true},
		"the re-creation of the stream": {func(t *testing.T, c client, _, _, _ func()) {
			t.Helper()
			if err := c.JetStream().DeleteStream(t.Context(), contract.StreamObservations); err != nil {
				t.Fatal(err)
			}
			bootstrap(t, c)
		}, true},
		"the deletion of its consumer": {func(t *testing.T, c client, _, _, _ func()) {
			t.Helper()
			deleteConsumers(t, c)
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			srv, c := bootstrapped(t)
			publish(t, c, subject(1), "1", nil)
			publish(t, c, subject(2), "2", nil)
			f := follow(t, c, contract.StreamObservations)
			f.want(t, map[string]string{subject(1): "1", subject(2): "2"}, 1)
			tc.fault(t, c, srv.Stop, srv.Start, srv.Wipe)
			publish(t, c, subject(1), "1b", nil)
			want := map[string]string{subject(1): "1b", subject(2): "2"}
			if tc.recreated {
				delete(want, subject(2))
			}
			f.want(t, want, 2)
			if got := f.recreated > 0; got != tc.recreated {
				t.Errorf("recreated is %t, want %t", got, tc.recreated)
			}
		})
	}
}

// A reader learns that it misses messages while its stream is missing, not only when it restarts.
func TestTailReportsInterruption(t *testing.T) {
	_, c := bootstrapped(t)
	f := follow(t, c, contract.StreamObservations)
	complete := func(want bool) {
		t.Helper()
		eventually(t, func() error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.complete != want {
				return fmt.Errorf("complete is %t after %d restarts", f.complete, f.restarts)
			}
			return nil
		})
	}
	complete(true)
	if err := c.JetStream().DeleteStream(t.Context(), contract.StreamObservations); err != nil {
		t.Fatal(err)
	}
	complete(false)
	if f.restarts > 0 {
		t.Errorf("%d restarts without a stream", f.restarts)
	}
	bootstrap(t, c)
	complete(true)
}

func consumers(t *testing.T, c client) []string {
	t.Helper()
	var names []string
	for _, info := range consumerInfos(t, c) {
		names = append(names, info.Name)
	}
	return names
}

func deleteConsumers(t *testing.T, c client) {
	t.Helper()
	for _, n := range consumers(t, c) {
		if err := c.JetStream().DeleteConsumer(t.Context(), contract.StreamObservations, n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTailLeavesNoConsumers(t *testing.T) {
	_, c := bootstrapped(t)
	for range 10 {
		done := make(chan struct{})
		stop := running(t, func(ctx context.Context) error {
			return bus.Tail(ctx, c.JetStream(), bus.TailConfig{
				Stream:     contract.StreamObservations,
				OnMessage:  func(bus.Delivery) {},
				OnSnapshot: func() { close(done) },
			})
		})
		<-done
		stop()
	}
	if got := consumers(t, c); len(got) != 0 {
		t.Errorf("%d consumers are left", len(got))
	}
}

func TestTailAndConnectionLeaveNoGoroutines(t *testing.T) {
	srv, c := bootstrapped(t)
	conn, err := bus.Connect(bus.Config{URL: srv.URL(), Name: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	stop := running(t, func(ctx context.Context) error {
		return bus.Tail(ctx, conn.JetStream(), bus.TailConfig{
			Stream:     contract.StreamObservations,
			OnMessage:  func(bus.Delivery) {},
			OnSnapshot: func() { close(done) },
		})
	})
	<-done
	stop()
	closeNow(t, conn)
	closeNow(t, c.Conn)
	wantNoLeaks(t)
}

func TestTailRequiresStreamAndHandler(t *testing.T) {
	var js jetstream.JetStream
	for name, cfg := range map[string]bus.TailConfig{
		"no stream": {OnMessage: func(bus.Delivery) {}},
		"no reader": {Stream: contract.StreamObservations},
	} {
		t.Run(name, func(t *testing.T) {
			if err := bus.Tail(t.Context(), js, cfg); err == nil {
				t.Error("no error")
			}
		})
	}
}
