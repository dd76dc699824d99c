package sweep

import (
	"context"
	"database/sql"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// closeBatchSize bounds the rows of one transaction.
const closeBatchSize = 100

// closeConfirmed checks again the rows that seem to lack an object, and closes those that do.
// It expects at most closeBatchSize uids.
func (s *Sweeper) closeConfirmed(ctx context.Context, kind *registry.Kind, uids []string) error {
	orphans, err := Confirm(ctx, s.cfg.APIReader, s.cfg.DB, kind, s.cfg.Namespaces, uids)
	if err != nil || len(orphans) == 0 {
		return err
	}
	return s.close(ctx, kind, orphans)
}

// Confirm returns those of the rows that are live, not evicted and in one of the namespaces, and whose object
// no longer exists. It reads them after the object: they then show what the controllers stored before the
// deletion, an eviction above all. The reader must not be a cache; no namespaces means all.
func Confirm(ctx context.Context, reader client.Reader, db *sql.DB, kind *registry.Kind,
	namespaces, uids []string,
) ([]rows.Row, error) {
	candidates, err := liveRows(ctx, db, kind, namespaces, uids)
	if err != nil {
		return nil, err
	}
	var missing []string
	for _, r := range candidates {
		isDeleted, err := deleted(ctx, reader, kind, r)
		if err != nil {
			return nil, &abortError{unconfirmed, err}
		}
		if isDeleted {
			missing = append(missing, r.UID)
		}
	}
	return liveRows(ctx, db, kind, namespaces, missing)
}

// liveRows returns those of the rows that are live and not evicted, in the namespaces.
func liveRows(ctx context.Context, db *sql.DB, kind *registry.Kind, namespaces, uids []string) ([]rows.Row, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	page, err := rows.Page(ctx, db, kind, rows.Query{State: rows.InCluster, Namespaces: namespaces, UIDs: uids, Limit: len(uids)})
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
