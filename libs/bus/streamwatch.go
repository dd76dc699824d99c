package bus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// streamWatch detects a stream reset: the stream was re-created, or its last sequence
// is lower than one that it acknowledged to us.
type streamWatch struct {
	names []string

	mu      sync.Mutex
	created map[string]time.Time
	heads   map[string]uint64 // greatest sequence acknowledged or seen
	resets  int
}

// mark is the state of the watch before a publish.
type mark struct {
	heads  map[string]uint64
	resets int
}

func newStreamWatch(names []string) *streamWatch {
	return &streamWatch{names: slices.Clone(names), created: map[string]time.Time{}, heads: map[string]uint64{}}
}

func (w *streamWatch) mark() mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mark{heads: maps.Clone(w.heads), resets: w.resets}
}

// regressed records an acknowledgment. It reports, once for each reset, whether a message
// that was sent after the mark got a sequence that had been assigned before it.
func (w *streamWatch) regressed(before mark, ack *jetstream.PubAck) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.names, ack.Stream) {
		return false
	}
	if ack.Sequence > before.heads[ack.Stream] || before.resets != w.resets {
		w.heads[ack.Stream] = max(w.heads[ack.Stream], ack.Sequence)
		return false
	}
	w.lost(ack.Stream, ack.Sequence)
	delete(w.created, ack.Stream) // the next check learns it
	return true
}

// check compares a stream with its recorded state.
func (w *streamWatch) check(ctx context.Context, js jetstream.JetStream, name string) (replaced bool, err error) {
	before := w.mark() // later acknowledgments may be ahead of the answer
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look at stream %q: %w", name, err)
	}
	info := stream.CachedInfo()

	w.mu.Lock()
	defer w.mu.Unlock()
	created, known := w.created[name]
	w.created[name] = info.Created
	if before.resets != w.resets {
		return false, nil
	}
	if (known && !created.Equal(info.Created)) || info.State.LastSeq < before.heads[name] {
		w.lost(name, info.State.LastSeq)
		return true, nil
	}
	return false, nil
}

func (w *streamWatch) lost(name string, head uint64) {
	w.resets++
	w.heads[name] = head
}
