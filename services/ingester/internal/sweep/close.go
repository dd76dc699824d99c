package sweep

import (
	"context"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// closeBatchSize bounds the rows of one transaction.
const closeBatchSize = 100

// closeConfirmed checks again the rows that seem to lack an object, and closes those that do.
// It expects at most closeBatchSize uids.
func (s *Sweeper) closeConfirmed(ctx context.Context, kind *registry.Kind, uids []string) error {
	orphans, err := s.confirm(ctx, kind, uids)
	if err != nil || len(orphans) == 0 {
		return err
	}
	return s.close(ctx, kind, orphans)
}

// confirm returns the rows whose object no longer exists. It reads them after the object: they
// then show what the controllers stored before the deletion, an eviction above all.
func (s *Sweeper) confirm(ctx context.Context, kind *registry.Kind, uids []string) ([]rows.Row, error) {
	candidates, err := s.liveRows(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	var deleted []string
	for _, r := range candidates {
		isDeleted, err := s.deleted(ctx, kind, r.Namespace, r.Name, r.UID)
		if err != nil {
			return nil, &abortError{unconfirmed, err}
		}
		if isDeleted {
			deleted = append(deleted, r.UID)
		}
	}
	return s.liveRows(ctx, kind, deleted)
}

// liveRows returns those of the rows that are live and not evicted, in the watched namespaces.
func (s *Sweeper) liveRows(ctx context.Context, kind *registry.Kind, uids []string) ([]rows.Row, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	page, err := rows.Page(ctx, s.cfg.DB, kind, rows.Query{State: rows.InCluster, Namespaces: s.cfg.Namespaces, UIDs: uids, Limit: len(uids)})
	if err != nil {
		return nil, &abortError{unreadable, err}
	}
	return page, nil
}

func (s *Sweeper) close(ctx context.Context, kind *registry.Kind, orphans []rows.Row) error {
	log := s.cfg.Log.WithValues("kind", kind.Name)
	for _, r := range orphans {
		log.V(1).Info("Found orphan", "namespace", r.Namespace, "name", r.Name, "uid", r.UID, "version", r.ResVersion)
	}
	first := orphans[0].Namespace + "/" + orphans[0].Name
	if s.cfg.DryRun {
		s.metrics.found.WithLabelValues(kind.Name).Add(float64(len(orphans)))
		log.Info("Would close orphans, dry run", "rows", len(orphans), "first", first)
		return nil
	}
	// Check again: the database may have been replaced since the sweep began.
	if err := s.checkpoint(ctx); err != nil {
		return err
	}
	outcomes, err := s.cfg.Close(ctx, kind, orphans)
	if err != nil {
		return &abortError{unclosed, err}
	}
	closed := 0
	for _, o := range outcomes {
		if o == writer.Deleted {
			closed++
		}
	}
	s.metrics.closed.WithLabelValues(kind.Name).Add(float64(closed))
	log.Info("Closed orphans", "rows", closed, "first", first)
	return nil
}
