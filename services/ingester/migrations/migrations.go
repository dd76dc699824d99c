package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/pressly/goose/v3"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

//go:embed *.sql
var files embed.FS

// Status is the state of one migration.
type Status struct {
	Version int64
	Name    string
	Applied bool
}

// Up applies what is pending and returns the names of what it applied.
func Up(ctx context.Context, db *sql.DB) ([]string, error) {
	p, err := provider(ctx, db)
	if err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("apply migrations: %w", err)
	}
	names := make([]string, 0, len(results))
	for _, r := range results {
		names = append(names, r.Source.Path)
	}
	return names, nil
}

// List returns the state of every migration of this binary.
func List(ctx context.Context, db *sql.DB) ([]Status, error) {
	p, err := provider(ctx, db)
	if err != nil {
		return nil, err
	}
	states, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read applied migrations: %w", err)
	}
	out := make([]Status, 0, len(states))
	for _, s := range states {
		out = append(out, Status{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied})
	}
	return out, nil
}

// Verify returns one line for each pending migration and for each difference
// between the database and the registry. Nothing returned means that all is well.
func Verify(ctx context.Context, db *sql.DB) ([]string, error) {
	states, err := List(ctx, db)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range states {
		if !s.Applied {
			out = append(out, fmt.Sprintf("migration %s is pending", s.Name))
		}
	}
	kinds, err := registry.Load()
	if err != nil {
		return nil, err
	}
	drift, err := schema.Compare(ctx, db, schema.Tables(kinds))
	if err != nil {
		return nil, err
	}
	for _, d := range drift {
		out = append(out, d.String())
	}
	return out, nil
}

func provider(ctx context.Context, db *sql.DB) (*goose.Provider, error) {
	p, err := goose.NewProvider(goose.DialectMySQL, db, files,
		goose.WithSessionLocker(&sessionLock{}),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(logr.ToSlogHandler(logr.FromContextOrDiscard(ctx)))),
	)
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return p, nil
}
