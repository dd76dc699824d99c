package history

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

// observer is the aggregator's name on the bus.
const observer = "status-aggregator"

// tombstone is how long the marker of a deleted entry stays, so that a reader who was away sees it.
const tombstone = time.Hour

// ErrConflict says that somebody else wrote the entry since it was read. What was
// planned from it is void: load and decide again.
var ErrConflict = errors.New("status entry was written by somebody else")

// Bus is what the store needs of a connection; [bus.Conn] has it.
type Bus interface {
	JetStream() jetstream.JetStream
	Publish(ctx context.Context, m bus.Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error)
}

// Store keeps the entries of one cluster. It is safe for concurrent use, one
// goroutine for each object at a time.
type Store struct {
	bus     Bus
	cluster string
	clock   clock.PassiveClock
	metrics *metrics.Metrics

	mu      sync.Mutex
	kv      jetstream.KeyValue
	stream  jetstream.Stream
	records map[contract.Ref]*Record
	// remembered are records of before the last [Store.Invalidate]: what the bucket
	// may have lost and we have not.
	remembered map[contract.Ref]*Record
	failing    time.Time // since when the bucket or the stream refuses; zero: does not
	proven     bool      // one of them has answered since the last Invalidate
}

// Record is what is known of one object's entry.
type Record struct {
	Entry contract.StatusEntry
	// Memory is the fold's.
	Memory conditions.Memory
	// Revision of the entry in the bucket; 0: there is none.
	Revision uint64

	private private
	lost    bool // the bucket had an entry once
	owing   []planned
	place   place
}

// Known says that there is an entry.
func (r *Record) Known() bool { return r.Revision > 0 }

// New returns a store that reads nothing before it is asked.
func New(b Bus, cluster string, c clock.PassiveClock, m *metrics.Metrics) *Store {
	return &Store{
		bus: b, cluster: cluster, clock: c, metrics: m,
		records: map[contract.Ref]*Record{}, remembered: map[contract.Ref]*Record{},
	}
}

// Invalidate makes the store read everything again: after an outage, or when a
// stream was re-created.
func (s *Store) Invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, r := range s.records {
		if r.Known() {
			s.remembered[ref] = r
		}
	}
	s.records = map[contract.Ref]*Record{}
	s.kv, s.stream, s.proven = nil, nil, false
}

// Works says whether the bus takes what the store writes: it has answered, and has
// not refused everything for longer than patience since.
func (s *Store) Works(patience time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.proven && (s.failing.IsZero() || s.clock.Since(s.failing) < patience)
}

// Doubtful says whether [Store.Probe] could tell something new.
func (s *Store) Doubtful() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.proven || !s.failing.IsZero()
}

// Probe asks the bucket and the stream whether they answer.
func (s *Store) Probe(ctx context.Context) error {
	kv, err := s.bucket(ctx)
	if err == nil {
		_, err = kv.Status(ctx)
	}
	if err == nil {
		var stream jetstream.Stream
		if stream, err = s.lifecycle(ctx); err == nil {
			_, err = stream.Info(ctx)
		}
	}
	return s.note(err)
}

// Load returns the record of an object, from the bucket when it is not in memory.
// The caller must not change it.
func (s *Store) Load(ctx context.Context, ref contract.Ref) (*Record, error) {
	s.mu.Lock()
	r := s.records[ref]
	before := s.remembered[ref]
	s.mu.Unlock()
	if r != nil {
		return r, nil
	}
	r, err := s.read(ctx, ref)
	if err = s.note(err); err != nil {
		return nil, fmt.Errorf("read status entry %q: %w", ref, err)
	}
	if !r.Known() && before != nil {
		// The bucket lost it. Memory and conditions go on, history has a gap.
		r = &Record{Entry: before.Entry, Memory: before.Memory, lost: true}
	}
	s.keep(ref, r)
	s.metrics.Conditions(ref, r.Entry.Conditions)
	return r, nil
}

func (s *Store) keep(ref contract.Ref, r *Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.records[ref] = r
	if r.Known() {
		delete(s.remembered, ref)
	}
}

// doubt makes the next [Store.Load] read the bucket, and remembers the record in case the bucket has lost it.
func (s *Store) doubt(ref contract.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.records[ref]; r != nil && r.Known() {
		s.remembered[ref] = r
	}
	delete(s.records, ref)
}

func (s *Store) forget(ref contract.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, ref)
	delete(s.remembered, ref)
}

// note keeps count of since when the bus refuses. A refusal that somebody else's write causes is an answer.
func (s *Store) note(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil || errors.Is(err, ErrConflict) || wrongSequence(err):
		s.failing, s.proven = time.Time{}, true
	case s.failing.IsZero():
		s.failing = s.clock.Now()
	}
	return err
}
