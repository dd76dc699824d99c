package history

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// The last events of an object stay pending in its entry. The stream discards them while nothing changes.
func TestFlushSkipsDiscardedEvents(t *testing.T) {
	for name, test := range map[string]struct {
		discard func(*fixture)
		want    []string
	}{
		"later events are left": {func(f *fixture) {
			f.putOther()
			f.purge(jetstream.WithPurgeSequence(f.state().LastSeq))
		}, []string{"other snapshot 0:Running"}},
		"none is left":           {func(f *fixture) { f.purge() }, nil},
		"none is left after age": {(*fixture).expire, nil},
		"none is left after a restart of the server": {func(f *fixture) {
			f.purge()
			f.restartServer()
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(f.entry("a", "Available=True@0", "Degraded=False@0"))
			f.flush()
			f.put(f.entry("a", "Available=False@1", "Degraded=True@1"))
			f.flush()
			test.discard(f)
			f.restart()
			f.flush()
			f.wantHistory(test.want...)
		})
	}
}

// Events that the stream never had are published: after a crash, or in a stream that was created again.
func TestFlushPublishesMissingEvents(t *testing.T) {
	for name, test := range map[string]struct {
		before, after func(*fixture)
		want          []string
	}{
		"a stream that discarded earlier events": {
			before: func(f *fixture) {
				f.putOther()
				f.putOther()
				f.purge(jetstream.WithPurgeSequence(f.state().LastSeq))
			},
			want: []string{"other available Available=True", "a snapshot 0:Running"},
		},
		"a stream that discarded all events": {
			before: func(f *fixture) {
				f.putOther()
				f.purge()
			},
			want: []string{"a snapshot 0:Running"},
		},
		"a new stream": {
			after: func(f *fixture) {
				f.flush()
				f.recreate()
			},
			want: []string{"a snapshot 0:Running"},
		},
		"a new stream with other events": {
			after: func(f *fixture) {
				f.flush()
				f.recreate()
				f.putOther()
			},
			want: []string{"other snapshot 0:Running", "a snapshot 0:Running"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if test.before != nil {
				test.before(f)
			}
			f.put(f.entry("a", "Available=True@0"))
			if test.after != nil {
				test.after(f)
			}
			f.restart()
			f.flush()
			f.wantHistory(test.want...)
		})
	}
}

// TestSequenceIncreasesAfterEventsExpired checks the first event of an object of which the stream has no other any more. A
// subscriber that compares sequences must not take it for an old one.
func TestSequenceIncreasesAfterEventsExpired(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", restarts), func(t *testing.T) {
			f := newFixture(t)
			f.put(f.entry("a", "Available=True@0"))
			f.flush()
			f.put(f.entry("a", "Available=False@1"))
			f.flush()
			all := f.sequences()
			f.expire()
			if restarts {
				f.restart()
			}
			f.put(f.entry("a", "Available=True@2"))
			f.flush()
			f.put(f.entry("a", "Available=False@3"))
			f.flush()
			all = append(all, f.sequences()...)
			if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != 4 {
				t.Errorf("the sequences are %q, want four that increase", all)
			}
		})
	}
}

// sequences returns the sequences of all events in the stream.
func (f *fixture) sequences() (out []string) {
	f.t.Helper()
	for _, m := range f.messages() {
		e, err := contract.DecodeEnvelope(m.Data)
		if err != nil {
			f.t.Fatal(err)
		}
		out = append(out, e.Sequence)
	}
	return out
}

// putOther publishes an event of another object.
func (f *fixture) putOther() {
	f.t.Helper()
	other := ref
	other.Name = "other"
	status := "Available=False@0"
	if r, err := f.store.Load(f.t.Context(), other); err == nil && r.Known() {
		status = "Available=True@1"
	}
	e := f.entry("other", status)
	e.Object.Name = other.Name
	if _, err := f.store.Put(f.t.Context(), other, e, conditions.State{}); err != nil {
		f.t.Fatal(err)
	}
	if err := f.store.Flush(f.t.Context(), other); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) stream() jetstream.Stream {
	f.t.Helper()
	stream, err := f.conn.JetStream().Stream(f.t.Context(), contract.StreamLifecycle)
	if err != nil {
		f.t.Fatal(err)
	}
	return stream
}

func (f *fixture) state() jetstream.StreamState { return f.stream().CachedInfo().State }

// purge discards events as the limits of the stream do.
func (f *fixture) purge(opts ...jetstream.StreamPurgeOpt) {
	f.t.Helper()
	if err := f.stream().Purge(f.t.Context(), opts...); err != nil {
		f.t.Fatal(err)
	}
}

// expire discards all events by their age.
func (f *fixture) expire() {
	f.t.Helper()
	cfg := f.stream().CachedInfo().Config
	cfg.MaxAge, cfg.Duplicates = 100*time.Millisecond, 100*time.Millisecond
	if _, err := f.conn.JetStream().UpdateStream(f.t.Context(), cfg); err != nil {
		f.t.Fatal(err)
	}
	expect.Eventually(f.t, expect.Long, func() error {
		if n := f.state().Msgs; n > 0 {
			return fmt.Errorf("%d events are left", n)
		}
		return nil
	})
	cfg.MaxAge, cfg.Duplicates = time.Hour, time.Minute
	if _, err := f.conn.JetStream().UpdateStream(f.t.Context(), cfg); err != nil {
		f.t.Fatal(err)
	}
}

// recreate replaces the stream of events, not the bucket.
func (f *fixture) recreate() {
	f.t.Helper()
	if err := f.conn.JetStream().DeleteStream(f.t.Context(), contract.StreamLifecycle); err != nil {
		f.t.Fatal(err)
	}
	if err := bus.Bootstrap(f.t.Context(), f.conn.JetStream(), bus.DefaultParams()); err != nil {
		f.t.Fatal(err)
	}
	f.store.Invalidate()
}

func (f *fixture) restartServer() {
	f.t.Helper()
	f.server.Stop()
	f.server.Start()
	expect.Eventually(f.t, expect.Long, func() error {
		ctx, cancel := context.WithTimeout(f.t.Context(), time.Second)
		defer cancel()
		_, err := f.conn.JetStream().Stream(ctx, contract.StreamLifecycle)
		return err
	})
}
