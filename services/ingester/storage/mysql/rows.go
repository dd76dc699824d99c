package mysql

import (
	"context"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// CloseRows closes rows as they are; see the writer's method. Errors: ErrNotReady.
func (s *Storage) CloseRows(ctx context.Context, kind *registry.Kind, wanted []rows.Row) ([]writer.Outcome, error) {
	w, err := s.await(ctx)
	if err != nil {
		return nil, err
	}
	return w.CloseRows(ctx, kind, wanted)
}

// KeepRows marks live rows as evicted as they are; see the writer's method. It needs no incarnation.
func (s *Storage) KeepRows(ctx context.Context, kind *registry.Kind, wanted []rows.Row) (int, error) {
	return s.direct.KeepRows(ctx, kind, wanted)
}
