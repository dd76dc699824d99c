package history

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// A context that ends with the process must not keep what a listing needs.
func TestKeysReleasesItsGoroutines(t *testing.T) {
	const (
		listings  = 50
		tolerance = 10 // of the client and the server, which runs in the same process
	)
	f := newFixture(t)
	f.put(f.entry("a", "Available=True@0"))
	before := runtime.NumGoroutine()
	for range listings {
		if keys, err := f.store.Keys(t.Context()); err != nil || len(keys) != 1 || keys[0] != ref {
			t.Fatalf("keys %v, %v", keys, err)
		}
	}
	expect.Eventually(t, expect.Long, func() error {
		if n := runtime.NumGoroutine() - before; n > tolerance {
			return fmt.Errorf("%d listings left %d goroutines", listings, n)
		}
		return nil
	})
}

// A resync that misses an entry does not detect the deletion of its object.
func TestKeysReportsTruncatedList(t *testing.T) {
	for name, test := range map[string]struct {
		interrupt func(cancel context.CancelFunc, w jetstream.KeyWatcher) error
		want      error
	}{
		"the context ends": {func(cancel context.CancelFunc, _ jetstream.KeyWatcher) error { cancel(); return nil }, context.Canceled},
		"the subscription ends, as without the stream": {
			func(_ context.CancelFunc, w jetstream.KeyWatcher) error { return w.Stop() }, errTruncated,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(f.entry("a", "Available=True@0"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f.store.kv = &endless{KeyValue: f.store.kv, t: t, opened: func(w jetstream.KeyWatcher) error { return test.interrupt(cancel, w) }}
			if keys, err := f.store.Keys(ctx); !errors.Is(err, test.want) {
				t.Errorf("got %v, %v, want %v", keys, err, test.want)
			}
		})
	}
}

// endless is a bucket whose listings have no end, as after the server has lost entries meanwhile.
type endless struct {
	jetstream.KeyValue
	t      *testing.T
	opened func(jetstream.KeyWatcher) error
}

func (e *endless) WatchFiltered(ctx context.Context, keys []string, opts ...jetstream.WatchOpt) (jetstream.KeyWatcher, error) {
	if _, ok := ctx.Deadline(); !ok {
		e.t.Error("a listing has no deadline")
	}
	w, err := e.KeyValue.WatchFiltered(ctx, keys, append(opts, jetstream.UpdatesOnly())...)
	if err != nil {
		return nil, err
	}
	return w, e.opened(w)
}
