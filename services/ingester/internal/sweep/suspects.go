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
	// gather is the debounce time: how long candidates are collected before their rows are read.
	gather = time.Second
	// lookAgain is the delay after a failed read.
	lookAgain = 10 * time.Second
	// maxSuspects bounds the waiting objects. Further ones are left to the next sweep.
	maxSuspects = 10_000
	// namesOfAQuery bounds the names in one query.
	namesOfAQuery = 200
)

// suspects holds deleted objects whose rows are to be checked, by kind. Each waits once.
type suspects struct {
	mu    sync.Mutex
	names map[string]map[types.NamespacedName]struct{}
	count int
	wake  chan struct{}
}

func newSuspects() suspects {
	return suspects{names: map[string]map[types.NamespacedName]struct{}{}, wake: make(chan struct{}, 1)}
}

// add reports whether there was room.
func (s *suspects) add(kind string, name types.NamespacedName) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.names[kind]
	if _, waits := of[name]; waits {
		return true
	}
	if s.count >= maxSuspects {
		return false
	}
	if of == nil {
		of = map[types.NamespacedName]struct{}{}
		s.names[kind] = of
	}
	of[name] = struct{}{}
	s.count++
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns and clears all waiting objects.
func (s *suspects) take() map[string]map[types.NamespacedName]struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.names
	s.names, s.count = map[string]map[types.NamespacedName]struct{}{}, 0
	return out
}

// Suspect adds a deleted object whose row is to be checked. It never blocks.
func (s *Sweeper) Suspect(kind, namespace, name string) {
	if !s.suspects.add(kind, types.NamespacedName{Namespace: namespace, Name: name}) {
		s.figures.dropped.WithLabelValues(kind).Inc()
	}
}

// follow examines the deleted objects until ctx ends.
func (s *Sweeper) follow(ctx context.Context) {
	pause, failing := gather, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.suspects.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-s.cfg.Clock.After(pause):
		}
		err := s.examine(ctx)
		pause = gather
		if err != nil {
			pause = lookAgain
		}
		if err != nil && !failing && ctx.Err() == nil {
			s.cfg.Log.Error(err, "Looking again later at objects that went")
		}
		failing = err != nil
	}
}

// examine reads the rows of all reported objects. Those of a kind whose read fails are kept:
// objects are deleted while MySQL is unavailable too.
func (s *Sweeper) examine(ctx context.Context) error {
	var failed []error
	taken := s.suspects.take()
	for _, kind := range s.cfg.Kinds {
		names := make([]types.NamespacedName, 0, len(taken[kind.Name]))
		for name := range taken[kind.Name] {
			if len(s.cfg.Namespaces) == 0 || slices.Contains(s.cfg.Namespaces, name.Namespace) {
				names = append(names, name)
			}
		}
		if err := s.hunt(ctx, kind, names); err != nil && ctx.Err() == nil {
			failed = append(failed, fmt.Errorf("%d objects of kind %s: %w", len(names), kind.Name, err))
			for _, name := range names {
				s.Suspect(kind.Name, name.Namespace, name.Name)
			}
		}
	}
	return errors.Join(failed...)
}

// hunt closes the rows of objects that were deleted although their row is live.
func (s *Sweeper) hunt(ctx context.Context, kind *registry.Kind, names []types.NamespacedName) error {
	var open []string
	for part := range slices.Chunk(names, namesOfAQuery) {
		some, err := s.openRows(ctx, kind, part)
		if err != nil {
			return err
		}
		open = append(open, some...)
	}
	if len(open) == 0 {
		return nil
	}
	if len(open) > rowsOfAClose {
		// So many at once are usually new objects of the same names; if not, the sweep decides.
		s.figures.dropped.WithLabelValues(kind.Name).Add(float64(len(names)))
		s.cfg.Log.Info("Many names of objects that went have live rows, which are left to the next sweep", "kind", kind.Name, "rows", len(open))
		return nil
	}
	if _, err := s.incarnation(ctx); err != nil {
		return err
	}
	return s.end(ctx, kind, open)
}

// openRows returns the uids of rows of these names that are live and not evicted. The
// index is forced: the order of the uids, which the server might follow, is of no use here.
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
		return nil, fmt.Errorf("look for rows of %s: %w", kind.Name, err)
	}
	return uids, nil
}
