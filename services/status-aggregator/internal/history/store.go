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

// tombstone is how long the marker of a deleted entry is kept, so that a reconnecting reader receives it.
const tombstone = time.Hour

// ErrConflict reports that another process wrote the entry after it was read. The plan is
// invalid: load the entry and decide again.
var ErrConflict = errors.New("status entry conflict")

// Bus is the part of [bus.Conn] that the store uses.
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
	// invalidated are the records before the last [Store.Invalidate], which the bucket
	// may have lost.
	invalidated map[contract.Ref]*Record
	failing     time.Time            // since when the bucket or the stream is unavailable; zero if it is available
	rejections  map[string]rejection // those of them that reject writes, by their names in the metrics
	responded   bool                 // one of them has responded since the last Invalidate
}

// Record is the entry of one object and its state in the store.
type Record struct {
	Entry contract.StatusEntry
	// Memory is the state of [conditions.Compute].
	Memory conditions.State
	// Revision is the revision of the entry in the bucket; 0 if there is none.
	Revision uint64

	entryState entryState
	lost       bool // the bucket lost the entry, or the entry cannot be read

	pending  []planned
	position position
	stored   time.Time // when the bucket stored the entry; zero if this process wrote it
	// found is how often the phase numbers of an incarnation had restarted according to the
	// stream, if the entry does not record it yet.
	found struct {
		uid      string
		restarts int64
	}
}

// restarts returns how often the phase numbers of an incarnation have restarted.
func (r *Record) restarts(uid string) int64 {
	var restarts int64
	if r.Entry.Object.UID == uid {
		restarts = r.entryState.Ring
	}
	if r.found.uid == uid {
		restarts = max(restarts, r.found.restarts)
	}
	return restarts
}

// Known reports whether the bucket holds this entry.
func (r *Record) Known() bool { return r.Revision > 0 && !r.lost }

// New returns a store that reads entries on demand.
func New(b Bus, cluster string, c clock.PassiveClock, m *metrics.Metrics) *Store {
	return &Store{
		bus: b, cluster: cluster, clock: c, metrics: m,
		records: map[contract.Ref]*Record{}, invalidated: map[contract.Ref]*Record{}, rejections: map[string]rejection{},
	}
}

// Invalidate makes the store read all entries again: after an outage, or after a
// stream was re-created.
func (s *Store) Invalidate() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, r := range s.records {
		if r.Known() {
			s.invalidated[ref] = r
		}
	}
	s.records = map[contract.Ref]*Record{}
	s.kv, s.stream, s.responded = nil, nil, false
}

// Load returns the record of an object, from memory or from the bucket.
// The caller must not change it.
func (s *Store) Load(ctx context.Context, ref contract.Ref) (*Record, error) {
	s.mu.Lock()
	r := s.records[ref]
	before := s.invalidated[ref]
	s.mu.Unlock()
	if r != nil {
		return r, nil
	}
	r, err := s.read(ctx, ref)
	if err = s.note(err); err != nil {
		return nil, fmt.Errorf("read status entry %q: %w", ref, err)
	}
	if before != nil && r.Revision < before.Revision {
		// The bucket lost the entry or was reset to an older one. Memory and conditions continue, history has a gap.
		r = &Record{
			Entry: before.Entry, Memory: before.Memory, Revision: r.Revision,
			lost: true, entryState: entryState{Ring: before.entryState.Ring},
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
		delete(s.invalidated, ref)
	}
}

// reload makes the next [Store.Load] read the bucket, and keeps the record in case the bucket has lost the entry.
func (s *Store) reload(ref contract.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.records[ref]; r != nil && r.Known() {
		s.invalidated[ref] = r
	}
	delete(s.records, ref)
}

func (s *Store) forget(ref contract.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.records, ref)
	delete(s.invalidated, ref)
}

// count counts a write to the bucket.
func (s *Store) count(key string, err error) {
	outcome := bus.Result(nil, err)
	switch {
	case errors.Is(err, ErrConflict):
		outcome = "conflict"
	case err != nil && s.bus.Denied(entryPrefix+key):
		outcome = "denied"
	}
	s.metrics.Publishes.WithLabelValues(metrics.StoreBucket, outcome).Inc()
}

// entryPrefix is the prefix of the subject of an entry.
const entryPrefix = "$KV." + contract.BucketStatus + "."
