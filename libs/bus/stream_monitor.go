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

// streamMonitor detects a stream reset: the stream was re-created, or its last sequence
// is lower than one that it acknowledged to us.
type streamMonitor struct {
	names []string

	mu      sync.Mutex
	created map[string]time.Time
	heads   map[string]uint64 // greatest sequence acknowledged or seen
	resets  int
}

// mark is the state of the monitor before a publish.
type mark struct {
	heads  map[string]uint64
	resets int
}

func newStreamMonitor(names []string) *streamMonitor {
	return &streamMonitor{names: slices.Clone(names), created: map[string]time.Time{}, heads: map[string]uint64{}}
}

func (m *streamMonitor) mark() mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return mark{heads: maps.Clone(m.heads), resets: m.resets}
}

// regressed records an acknowledgment. It reports, once for each reset, whether a message
// that was sent after the mark got a sequence that had been assigned before it.
func (m *streamMonitor) regressed(before mark, ack *jetstream.PubAck) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.names, ack.Stream) {
		return false
	}
	if ack.Sequence > before.heads[ack.Stream] || before.resets != m.resets {
		m.heads[ack.Stream] = max(m.heads[ack.Stream], ack.Sequence)
		return false
	}
	m.recordReset(ack.Stream, ack.Sequence)
	delete(m.created, ack.Stream) // the next check records it
	return true
}

// check compares a stream with its recorded state.
func (m *streamMonitor) check(ctx context.Context, js jetstream.JetStream, name string) (replaced bool, err error) {
	before := m.mark() // later acknowledgments may be ahead of the reply
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return false, fmt.Errorf("get stream info %q: %w", name, err)
	}
	info := stream.CachedInfo()

	m.mu.Lock()
	defer m.mu.Unlock()
	created, ok := m.created[name]
	m.created[name] = info.Created
	if before.resets != m.resets {
		return false, nil
	}
	if (ok && !created.Equal(info.Created)) || info.State.LastSeq < before.heads[name] {
		m.recordReset(name, info.State.LastSeq)
		return true, nil
	}
	return false, nil
}

func (m *streamMonitor) recordReset(name string, head uint64) {
	m.resets++
	m.heads[name] = head
}
