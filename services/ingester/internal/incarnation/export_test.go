package incarnation

import (
	"context"
	"database/sql"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// ResolveInPages returns Resolve with a page size.
func ResolveInPages(size int) func(context.Context, *sql.DB, *registry.Registry, string, Version, time.Time) (int64, error) {
	return func(ctx context.Context, db *sql.DB, kinds *registry.Registry, clusterUID string, version Version, now time.Time) (int64, error) {
		return tables{db, kinds, size}.resolve(ctx, clusterUID, version, now)
	}
}
