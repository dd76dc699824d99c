package history

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

// A bucket that serves reads but rejects writes is not healthy.
func TestHealthyDetectsReadOnlyBucket(t *testing.T) {
	f := newFixture(t)
	const timeout = 10 * time.Second
	f.put(f.entry("a", "Available=True@0"))
	f.flush()
	full := bus.DefaultParams()
	full.StatusMaxBytes = 1
	if err := bus.Bootstrap(t.Context(), f.conn.JetStream(), full); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{0, timeout} {
		f.clock.SetTime(f.clock.Now().Add(wait))
		if _, err := f.store.Put(t.Context(), ref, f.entry("a", "Available=False@1"), conditions.State{}); err == nil {
			t.Fatal("the bucket accepted the entry")
		}
		if err := f.store.Probe(t.Context()); err == nil {
			t.Error("the probe reports no error")
		}
		if got, want := f.store.Healthy(timeout), wait < timeout; got != want {
			t.Errorf("after %s: healthy %v, want %v", wait, got, want)
		}
	}
	// Once the Lease has ended, only the probe writes.
	if n := testutil.ToFloat64(f.store.metrics.Publishes.WithLabelValues(metrics.StoreBucket, "failed")); n != 4 {
		t.Errorf("%v failed writes were counted, want those of two entries and two probes", n)
	}
	if err := bus.Bootstrap(t.Context(), f.conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	f.clock.SetTime(start.Add(yield))
	if err := f.store.Probe(t.Context()); err != nil || !f.store.Healthy(timeout) || f.store.NeedsProbe() {
		t.Errorf("error %v, healthy %v, needs probe %v", err, f.store.Healthy(timeout), f.store.NeedsProbe())
	}
	if keys, err := f.store.Keys(t.Context()); err != nil || len(keys) != 1 {
		t.Errorf("keys %v, %v: want only the key of the object", keys, err)
	}
}

// A bucket that is full of entries still accepts smaller writes: those of the probe, and of other objects.
func TestHealthyDetectsFullBucket(t *testing.T) {
	f := newFixture(t)
	const timeout = 10 * time.Second
	small := bus.DefaultParams()
	small.StatusMaxBytes = 64 << 10
	if err := bus.Bootstrap(t.Context(), f.conn.JetStream(), small); err != nil {
		t.Fatal(err)
	}
	put := func(name string, size int) error {
		object, e := ref, f.entry("a", "Available=True@0")
		object.Name, e.Object.Name = name, name
		e.Conditions[0].Message = strings.Repeat("x", size)
		_, err := f.store.Put(t.Context(), object, e, conditions.State{})
		return err
	}
	var err error
	for n := 0; err == nil; n++ {
		err = put(fmt.Sprintf("main-%d", n), 2<<10)
	}
	if !strings.Contains(err.Error(), "maximum bytes exceeded") {
		t.Fatal(err)
	}
	if err := put("other", 0); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []time.Duration{0, timeout, yield} {
		f.clock.SetTime(start.Add(wait))
		if err := f.store.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := f.store.Healthy(timeout), wait != timeout; got != want {
			t.Errorf("after %s: healthy %v, want %v", wait, got, want)
		}
	}
	if f.store.NeedsProbe() {
		t.Error("needs a probe although the bucket is tried again")
	}
}

// A stream that rejects events is not used for long enough that the operators write.
func TestFlushYieldsWhenStreamRejectsEvents(t *testing.T) {
	f := newFixture(t)
	const timeout = 10 * time.Second
	f.put(f.entry("a", "Available=True@0"))
	f.bus.before = func(bus.Message) error { return errors.New("rejected") }
	for _, wait := range []time.Duration{0, timeout, yield} {
		if err := f.store.Flush(t.Context(), ref); err == nil {
			t.Fatal("the stream accepted the event")
		}
		f.clock.SetTime(start.Add(wait))
		if err := f.store.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := f.store.Healthy(timeout), wait != timeout; got != want {
			t.Errorf("after %s: healthy %v, want %v", wait, got, want)
		}
	}
	f.bus.before = nil
	f.flush()
	if f.store.NeedsProbe() {
		t.Errorf("needs a probe although %s accepts events", contract.StreamLifecycle)
	}
}

// Events that another process has published do not show that the stream accepts those of this one.
func TestFlushWithoutWriteKeepsRejection(t *testing.T) {
	f := newFixture(t)
	f.put(f.entry("a", "Available=True@0"))
	reject := func(bus.Message) error { return errors.New("rejected") }
	f.bus.before = reject
	rejected := f.store
	if err := rejected.Flush(t.Context(), ref); err == nil {
		t.Fatal("the stream accepted the event")
	}
	f.bus.before = nil
	f.restart()
	f.flush()
	f.bus.before = reject
	if err := rejected.Flush(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if !rejected.NeedsProbe() {
		t.Error("needs no probe although the stream accepted no event")
	}
}

// Another process publishes the event during the last attempt.
func TestFlushReportsConflictOfLastAttempt(t *testing.T) {
	f := newFixture(t)
	f.put(f.entry("a", "Available=True@0"))
	n := 0
	f.bus.before = func(m bus.Message) error {
		if n++; n == attempts {
			if _, err := f.conn.Publish(t.Context(), m); err != nil {
				t.Error(err)
			}
		}
		return &jetstream.APIError{ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence}
	}
	if err := f.store.Flush(t.Context(), ref); !errors.Is(err, ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
	f.flush()
	f.wantHistory("a snapshot 0:Running")
}

func TestHealthyFollowsProbe(t *testing.T) {
	f := newFixture(t)
	const timeout = 10 * time.Second
	if f.store.Healthy(timeout) {
		t.Error("healthy before the first probe")
	}
	if err := f.store.Probe(t.Context()); err != nil || !f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v", err, f.store.Healthy(timeout))
	}
	f.store.Invalidate()
	if f.store.Healthy(timeout) {
		t.Error("healthy although it must be probed again")
	}
	if err := f.conn.JetStream().DeleteKeyValue(t.Context(), contract.BucketStatus); err != nil {
		t.Fatal(err)
	}
	if _, err := f.store.Load(t.Context(), ref); err == nil || f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v", err, f.store.Healthy(timeout))
	}
	if err := bus.Bootstrap(t.Context(), f.conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Probe(t.Context()); err != nil || !f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v", err, f.store.Healthy(timeout))
	}
	if err := f.conn.JetStream().DeleteKeyValue(t.Context(), contract.BucketStatus); err != nil {
		t.Fatal(err)
	}
	if err := f.store.Probe(t.Context()); err == nil || !f.store.Healthy(timeout) {
		t.Errorf("error %v, healthy %v, want healthy after the first failure", err, f.store.Healthy(timeout))
	}
	f.clock.SetTime(start.Add(timeout))
	if f.store.Healthy(timeout) {
		t.Error("healthy although probes have failed for long")
	}
}
