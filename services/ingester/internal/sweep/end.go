package sweep

import (
	"context"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// rowsOfAClose bounds the rows of one transaction.
const rowsOfAClose = 100

// end checks again the rows that seem to lack an object, and closes those that do. It
// expects at most rowsOfAClose uids.
func (s *Sweeper) end(ctx context.Context, kind *registry.Kind, uids []string) error {
	orphans, err := s.confirm(ctx, kind, uids)
	if err != nil || len(orphans) == 0 {
		return err
	}
	return s.close(ctx, kind, orphans)
}

// confirm returns the rows whose object is gone, read afterwards: they then show what
// the controllers stored before the object was deleted, an eviction above all.
func (s *Sweeper) confirm(ctx context.Context, kind *registry.Kind, uids []string) ([]rows.Row, error) {
	suspects, err := s.here(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, r := range suspects {
		is, err := s.gone(ctx, kind, r.Namespace, r.Name, r.UID)
		if err != nil {
			return nil, &abort{unconfirmed, err}
		}
		if is {
			gone = append(gone, r.UID)
		}
	}
	return s.here(ctx, kind, gone)
}

// here returns those of the rows that are live and not evicted, in our namespaces.
func (s *Sweeper) here(ctx context.Context, kind *registry.Kind, uids []string) ([]rows.Row, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	page, err := rows.Page(ctx, s.cfg.DB, kind, rows.Query{State: rows.Here, Namespaces: s.cfg.Namespaces, UIDs: uids, Limit: len(uids)})
	if err != nil {
		return nil, &abort{unreadable, err}
	}
	return page, nil
}

func (s *Sweeper) close(ctx context.Context, kind *registry.Kind, orphans []rows.Row) error {
	log := s.cfg.Log.WithValues("kind", kind.Name)
	for _, r := range orphans {
		log.V(1).Info("Found an orphan", "namespace", r.Namespace, "name", r.Name, "uid", r.UID, "version", r.ResVersion)
	}
	first := orphans[0].Namespace + "/" + orphans[0].Name
	if s.cfg.DryRun {
		s.figures.found.WithLabelValues(kind.Name).Add(float64(len(orphans)))
		log.Info("Would close rows whose objects are gone: --sweep-dry-run", "rows", len(orphans), "first", first)
		return nil
	}
	// Check again: the database may have been replaced since the sweep began.
	if err := s.checkpoint(ctx); err != nil {
		return err
	}
	outcomes, err := s.cfg.Close(ctx, kind, orphans)
	if err != nil {
		return &abort{unclosed, err}
	}
	closed := 0
	for _, o := range outcomes {
		if o == writer.Deleted {
			closed++
		}
	}
	s.figures.closed.WithLabelValues(kind.Name).Add(float64(closed))
	log.Info("Closed rows whose objects are gone", "rows", closed, "first", first)
	return nil
}
