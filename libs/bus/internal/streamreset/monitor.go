// Package streamreset detects that a stream lost messages that it had acknowledged.
package streamreset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Monitor detects a stream reset: the stream was re-created, or its last sequence
// is lower than one that it acknowledged to us. Other publishers' messages can hide
// that, so it also asks the sources of our messages; see [Monitor.Own].
type Monitor struct {
	name string // of the stream

	mu        sync.Mutex
	created   time.Time // of the stream; zero while unknown
	head      uint64    // greatest sequence acknowledged or seen
	own       []func(context.Context, jetstream.Stream) (bool, error)
	suspected uint64 // head when a reset was first suspected since the last check; 0 if none was
	resets    int
}

// Result is the result of a check.
type Result int

// Results of a check.
const (
	Intact Result = iota
	// Missing means that our newest message is missing or may be. Not every cause is a
	// reset: a replica that lags behind may have replied.
	Missing
	Reset
)

// State is the state of the monitor before a publish.
type State struct {
	head   uint64
	resets int
}

// New returns a Monitor of a stream.
func New(name string) *Monitor { return &Monitor{name: name} }

// Own adds a source of our messages in the stream; missing reports whether its newest one is missing.
func (m *Monitor) Own(missing func(context.Context, jetstream.Stream) (bool, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = append(m.own, missing)
}

// Suspect records that the stream may have been reset. A message that is acknowledged before
// the next check hides whether earlier ones are lost, so that check then assumes it.
func (m *Monitor) Suspect() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.suspected == 0 {
		m.suspected = m.head
	}
}

// Mark returns the state before a publish.
func (m *Monitor) Mark() State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return State{head: m.head, resets: m.resets}
}

// Regressed records an acknowledgment. It reports, once for each reset, whether a message
// that was sent after the mark got a sequence that had been assigned before it.
func (m *Monitor) Regressed(before State, ack *jetstream.PubAck) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ack.Stream != m.name {
		return false
	}
	if ack.Sequence > before.head || before.resets != m.resets {
		m.head = max(m.head, ack.Sequence)
		return false
	}
	m.recordReset(ack.Sequence)
	m.created = time.Time{} // the next check records it
	return true
}

// Check compares the stream with its recorded state. It detects a reset also if it cannot read our newest message.
func (m *Monitor) Check(ctx context.Context, js jetstream.JetStream) (Result, error) {
	before := m.Mark() // later acknowledgments may be ahead of the reply
	stream, err := js.Stream(ctx, m.name)
	if err != nil {
		m.Suspect()
		return Intact, fmt.Errorf("get stream info %q: %w", m.name, err)
	}
	missing, err := m.missing(ctx, stream)
	if err != nil {
		m.Suspect()
		err = fmt.Errorf("get own newest message in %q: %w", m.name, err)
	}
	return m.compare(before, stream.CachedInfo(), missing, err == nil), err
}

// missing asks the sources.
func (m *Monitor) missing(ctx context.Context, stream jetstream.Stream) (bool, error) {
	m.mu.Lock()
	own := slices.Clone(m.own)
	m.mu.Unlock()
	for _, f := range own {
		if missing, err := f(ctx, stream); missing || err != nil {
			return missing, err
		}
	}
	return false, nil
}

// compare decides. If missing is not known, a suspicion remains.
func (m *Monitor) compare(before State, info *jetstream.StreamInfo, missing, known bool) Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	created := m.created
	m.created = info.Created
	result := Intact
	switch {
	case before.resets != m.resets:
	case !created.IsZero() && !created.Equal(info.Created), info.State.LastSeq < before.head:
		result = Reset
	case !known:
		return Intact
	case missing, len(m.own) > 0 && m.suspected > 0 && m.suspected < m.head:
		result = Missing
	}
	m.suspected = 0
	if result != Intact {
		m.recordReset(info.State.LastSeq)
	}
	return result
}

func (m *Monitor) recordReset(head uint64) {
	m.resets++
	m.head = head
}
