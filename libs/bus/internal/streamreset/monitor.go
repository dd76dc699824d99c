// Package streamreset detects that a stream lost messages that it had acknowledged.
package streamreset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Monitor detects a stream reset: the stream was re-created, or its last sequence
// is lower than one that it acknowledged to us.
type Monitor struct {
	Names []string // of the streams

	mu      sync.Mutex
	created map[string]time.Time
	heads   map[string]uint64 // greatest sequence acknowledged or seen
	resets  int
}

// State is the state of the monitor before a publish.
type State struct {
	heads  map[string]uint64
	resets int
}

// New returns a Monitor of the named streams.
func New(names []string) *Monitor {
	return &Monitor{Names: slices.Clone(names), created: map[string]time.Time{}, heads: map[string]uint64{}}
}

// Mark returns the state before a publish.
func (m *Monitor) Mark() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return State{heads: maps.Clone(m.heads), resets: m.resets}
}

// Regressed records an acknowledgment. It reports, once for each reset, whether a message
// that was sent after the mark got a sequence that had been assigned before it.
func (m *Monitor) Regressed(before State, ack *jetstream.PubAck) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.Names, ack.Stream) {
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

// Check compares a stream with its recorded state.
func (m *Monitor) Check(ctx context.Context, js jetstream.JetStream, name string) (replaced bool, err error) {
	before := m.Mark() // later acknowledgments may be ahead of the reply
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

func (m *Monitor) recordReset(name string, head uint64) {
	m.resets++
	m.heads[name] = head
}
