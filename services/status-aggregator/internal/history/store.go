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
	Denied(subject string) bool
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
	failing    time.Time            // since when the bucket or the stream does not answer; zero: does
	refused    map[string]time.Time // since when one of them takes no writes, by its name in the metrics
	proven     bool                 // one of them has answered since the last Invalidate
}

// Record is what is known of one object's entry.
type Record struct {
	Entry contract.StatusEntry
	// Memory is the fold's.
	Memory conditions.Memory
	// Revision of the entry in the bucket; 0: there is none.
	Revision uint64

	private private
	lost    bool // the bucket had this entry once, or has one that cannot be read

	owing []planned
	place place
	// met is how often the phase changes of an incarnation had begun anew that the entry
	// does not know yet, as the stream shows it.
	met struct {
		uid  string
		ring int64
	}
}

// ring is how often the numbers of an incarnation's phase changes have begun anew.
func (r *Record) ring(uid string) int64 {
	var ring int64
	if r.Entry.Object.UID == uid {
		ring = r.private.Ring
	}
	if r.met.uid == uid {
		ring = max(ring, r.met.ring)
	}
	return ring
}

// Known says that the bucket holds this entry.
func (r *Record) Known() bool { return r.Revision > 0 && !r.lost }

// New returns a store that reads nothing before it is asked.
func New(b Bus, cluster string, c clock.PassiveClock, m *metrics.Metrics) *Store {
	return &Store{
		bus: b, cluster: cluster, clock: c, metrics: m,
		records: map[contract.Ref]*Record{}, remembered: map[contract.Ref]*Record{}, refused: map[string]time.Time{},
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
	if before != nil && r.Revision < before.Revision {
		// The bucket lost it, or was set back to an older one. Memory and conditions go on, history has a gap.
		r = &Record{
			Entry: before.Entry, Memory: before.Memory, Revision: r.Revision,
			lost: true, private: private{Ring: before.private.Ring},
		}
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

// count counts a write to the bucket.
func (s *Store) count(ref contract.Ref, err error) {
	outcome := bus.Result(nil, err)
	switch {
	case errors.Is(err, ErrConflict):
		outcome = "conflict"
	case err != nil && s.bus.Denied(entryPrefix+ref.String()):
		outcome = "denied"
	}
	s.metrics.Publishes.WithLabelValues(storeBucket, outcome).Inc()
}

// entryPrefix begins the subject of an entry.
const entryPrefix = "$KV." + contract.BucketStatus + "."
