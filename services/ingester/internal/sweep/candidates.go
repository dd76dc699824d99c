package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

const (
	// batchDelay is the debounce time before the rows of new candidates are read.
	batchDelay = time.Second
	// retryDelay is the delay after a failed read.
	retryDelay = 10 * time.Second
	// maxCandidates bounds the queued objects. Further ones are left to the next sweep.
	maxCandidates = 10_000
	// namesPerQuery bounds the names in one query.
	namesPerQuery = 200
)

// candidates queues deleted objects whose rows are to be checked, by kind and without duplicates.
type candidates struct {
	mu    sync.Mutex
	names map[string]map[types.NamespacedName]struct{}
	count int
	added chan struct{}
}

func newCandidates() candidates {
	return candidates{names: map[string]map[types.NamespacedName]struct{}{}, added: make(chan struct{}, 1)}
}

// add adds an object and reports whether the queue had room.
func (s *candidates) add(kind string, name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := s.names[kind]
	if _, queued := names[name]; queued {
		return true
	}
	if s.count >= maxCandidates {
		return false
	}
	if names == nil {
		names = map[types.NamespacedName]struct{}{}
		s.names[kind] = names
	}
	names[name] = struct{}{}
	s.count++
	select {
	case s.added <- struct{}{}:
	default:
	}
	return true
}

// take returns and clears all queued objects.
func (s *candidates) take() map[string]map[types.NamespacedName]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.names
	s.names, s.count = map[string]map[types.NamespacedName]struct{}{}, 0
	return out
}

// AddCandidate queues a deleted object whose row is to be checked. It never blocks.
func (s *Sweeper) AddCandidate(kind, namespace, name string) {
	if !s.candidates.add(kind, types.NamespacedName{Namespace: namespace, Name: name}) {
		s.metrics.dropped.WithLabelValues(kind).Inc()
	}
}

// examineCandidates checks the rows of deleted objects until ctx ends.
func (s *Sweeper) examineCandidates(ctx context.Context) {
	delay, failing := batchDelay, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.candidates.added:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.cfg.Clock.After(delay):
		}
		err := s.checkQueued(ctx)
		delay = batchDelay
		if err != nil {
			delay = retryDelay
		}
		if err != nil && !failing && ctx.Err() == nil {
			s.cfg.Log.Error(err, "Failed to check the rows of deleted objects, retrying")
		}
		failing = err != nil
	}
}

// checkQueued reads the rows of all queued objects. Those of a kind whose read fails stay queued:
// objects are deleted while MySQL is unavailable too.
func (s *Sweeper) checkQueued(ctx context.Context) error {
	var failed []error
	queued := s.candidates.take()
	for _, kind := range s.cfg.Kinds {
		names := make([]types.NamespacedName, 0, len(queued[kind.Name]))
		for name := range queued[kind.Name] {
			if len(s.cfg.Namespaces) == 0 || slices.Contains(s.cfg.Namespaces, name.Namespace) {
				names = append(names, name)
			}
		}
		if err := s.closeOrphans(ctx, kind, names); err != nil && ctx.Err() == nil {
			failed = append(failed, fmt.Errorf("close rows of kind %s: %w", kind.Name, err))
			for _, name := range names {
				s.AddCandidate(kind.Name, name.Namespace, name.Name)
			}
		}
	}
	return errors.Join(failed...)
}

// closeOrphans closes the rows of objects that were deleted although their row is live.
func (s *Sweeper) closeOrphans(ctx context.Context, kind *registry.Kind, names []types.NamespacedName) error {
	var open []string
	for part := range slices.Chunk(names, namesPerQuery) {
		uids, err := s.openRows(ctx, kind, part)
		if err != nil {
			return err
		}
		open = append(open, uids...)
	}
	if len(open) == 0 {
		return nil
	}
	if len(open) > closeBatchSize {
		// So many rows at once usually have new objects of the same names; the next sweep checks the others.
		s.metrics.dropped.WithLabelValues(kind.Name).Add(float64(len(open)))
		s.cfg.Log.Info("Too many deleted objects have live rows, leaving them to the next sweep", "kind", kind.Name, "rows", len(open))
		return nil
	}
	if _, err := s.incarnation(ctx); err != nil {
		return err
	}
	return s.closeConfirmed(ctx, kind, open)
}

// openRows returns the uids of rows of these names that are live and not evicted. It forces
// the index: the server might choose the order of the uids instead.
func (s *Sweeper) openRows(ctx context.Context, kind *registry.Kind, names []types.NamespacedName) ([]string, error) {
	args := make([]any, 0, 2*len(names))
	for _, n := range names {
		args = append(args, n.Namespace, n.Name)
	}
	query := "SELECT uid FROM " + schema.Quote(kind.Table) + " FORCE INDEX (idx_namespace_name)" +
		" WHERE (namespace, name) IN (" + strings.TrimSuffix(strings.Repeat("(?, ?), ", len(names)), ", ") + ")" +
		" AND delete_time IS NULL AND evict_time IS NULL"
	var uids []string
	if err := sqlx.NewDb(s.cfg.DB, "mysql").SelectContext(ctx, &uids, query, args...); err != nil {
		return nil, fmt.Errorf("read rows of %s: %w", kind.Name, err)
	}
	return uids, nil
}
