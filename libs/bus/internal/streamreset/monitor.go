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
// is lower than one that it acknowledged to us. Other publishers' messages can hide
// that, so it also asks the sources of our messages; see [Monitor.Own].
type Monitor struct {
	Names []string // of the streams

	mu        sync.Mutex
	created   map[string]time.Time
	heads     map[string]uint64 // greatest sequence acknowledged or seen
	own       map[string][]func(context.Context) (bool, error)
	suspected map[string]uint64 // heads when a reset was first suspected since the last check
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
	heads  map[string]uint64
	resets int
}

// New returns a Monitor of the named streams.
func New(names []string) *Monitor {
	return &Monitor{
		Names:     slices.Clone(names),
		created:   map[string]time.Time{},
		heads:     map[string]uint64{},
		own:       map[string][]func(context.Context) (bool, error){},
		suspected: map[string]uint64{},
	}
}

// Own adds a source of our messages in a stream; missing reports whether its newest one is missing.
func (m *Monitor) Own(stream string, missing func(context.Context) (bool, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own[stream] = append(m.own[stream], missing)
}

// Suspect records that the streams may have been reset. A message that is acknowledged before
// the next check hides whether earlier ones are lost, so that check then assumes it.
func (m *Monitor) Suspect() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.Names {
		if _, ok := m.suspected[name]; !ok {
			m.suspected[name] = m.heads[name]
		}
	}
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

// Check compares a stream with its recorded state. It detects a reset also if it cannot read our newest message.
func (m *Monitor) Check(ctx context.Context, js jetstream.JetStream, name string) (Result, error) {
	before := m.Mark() // later acknowledgments may be ahead of the reply
	stream, err := js.Stream(ctx, name)
	if err != nil {
		m.Suspect()
		return Intact, fmt.Errorf("get stream info %q: %w", name, err)
	}
	missing, err := m.missing(ctx, name)
	if err != nil {
		m.Suspect()
		err = fmt.Errorf("get own newest message in %q: %w", name, err)
	}
	return m.compare(before, stream.CachedInfo(), missing, err == nil), err
}

// missing asks the sources of a stream.
func (m *Monitor) missing(ctx context.Context, name string) (bool, error) {
	m.mu.Lock()
	own := slices.Clone(m.own[name])
	m.mu.Unlock()
	for _, f := range own {
		if missing, err := f(ctx); missing || err != nil {
			return missing, err
		}
	}
	return false, nil
}

// compare decides. If missing is not known, a suspicion remains.
func (m *Monitor) compare(before State, info *jetstream.StreamInfo, missing, known bool) Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := info.Config.Name
	created, seen := m.created[name]
	m.created[name] = info.Created
	head := m.suspected[name]
	result := Intact
	switch {
	case before.resets != m.resets:
	case seen && !created.Equal(info.Created), info.State.LastSeq < before.heads[name]:
		result = Reset
	case !known:
		return Intact
	case missing, len(m.own[name]) > 0 && head > 0 && head < m.heads[name]:
		result = Missing
	}
	delete(m.suspected, name)
	if result != Intact {
		m.recordReset(name, info.State.LastSeq)
	}
	return result
}

func (m *Monitor) recordReset(name string, head uint64) {
	m.resets++
	m.heads[name] = head
}
