package migrations

import (
	"context"
	"database/sql"
	"io/fs"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/legacyschema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// UpSome applies the migrations of some kinds, named by their tables, and of the
// tables that all share. Unlike Up it fails when the connection is lost.
func UpSome(ctx context.Context, db *sql.DB, tables ...string) (Report, error) {
	every, err := all()
	if err != nil {
		return Report{}, err
	}
	some := every
	some.files, some.kinds = fstest.MapFS{}, nil
	some.adoption = legacyschema.Options{Batch: 4} // so that there are several
	wanted := func(kind *registry.Kind) bool { return slices.Contains(tables, kind.Table) }
	for _, kind := range every.kinds {
		if wanted(kind) {
			some.kinds = append(some.kinds, kind)
		}
	}
	names, err := fs.Glob(files, "*")
	if err != nil {
		return Report{}, err
	}
	for _, name := range names {
		other := slices.ContainsFunc(every.kinds, func(kind *registry.Kind) bool {
			table := strings.ReplaceAll(name, ".", "_")
			return !wanted(kind) && (strings.Contains(table, "_create_"+kind.Table+"_") || strings.Contains(table, "_add_"+kind.Table+"_"))
		})
		if other {
			continue
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return Report{}, err
		}
		some.files.(fstest.MapFS)[name] = &fstest.MapFile{Data: content}
	}
	return some.up(ctx, db)
}

// UpWithKind applies all migrations with a kind that has no migration yet.
func UpWithKind(ctx context.Context, db *sql.DB, kind *registry.Kind) (Report, error) {
	every, err := all()
	if err != nil {
		return Report{}, err
	}
	every.kinds = append(slices.Clone(every.kinds), kind)
	return every.up(ctx, db)
}

// UpWithTableWait is like Up, with another bound of the wait for the lock of a table.
func UpWithTableWait(ctx context.Context, db *sql.DB, seconds int) (Report, error) {
	every, err := all()
	if err != nil {
		return Report{}, err
	}
	every.tableWaitSeconds = seconds
	return every.up(ctx, db)
}
