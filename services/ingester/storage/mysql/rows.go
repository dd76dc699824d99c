package mysql

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/decide"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// CloseRows closes rows with their stored content; see the writer's method. Errors: ErrNotReady.
func (s *Storage) CloseRows(ctx context.Context, kind *registry.Kind, targets []rows.Row) ([]writer.Outcome, error) {
	w, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	return w.CloseRows(ctx, kind, targets)
}

// EvictRows marks live rows as evicted with their stored content; see the writer's method. It needs no incarnation.
func (s *Storage) EvictRows(ctx context.Context, kind *registry.Kind, targets []rows.Row) (int, error) {
	return s.direct.EvictRows(ctx, kind, targets)
}

// Abandon implements storage.IngesterStorage.
func (s *Storage) Abandon(ctx context.Context, object runtime.Object) error {
	kind, err := s.kindOf(object)
	if err != nil {
		return err
	}
	m, err := meta.Accessor(object)
	if err != nil {
		return fmt.Errorf("read the uid: %w", err)
	}
	if _, err := s.await(ctx); err != nil {
		return err // the schema may not be migrated yet
	}
	state := rows.Open
	if decide.HeldByOthers(m) {
		state = rows.InCluster
	}
	page, err := rows.Page(ctx, s.db, kind, rows.Query{State: state, UIDs: []string{string(m.GetUID())}})
	if err != nil || len(page) == 0 {
		return err
	}
	outcomes, err := s.CloseRows(ctx, kind, page)
	if err != nil {
		return err
	}
	if outcomes[0] == writer.Stale {
		return storage.ErrStale
	}
	return nil
}
