package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/legacyschema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

//go:embed *.sql 0*_*.go
var files embed.FS

// Status is the state of one migration.
type Status struct {
	Version int64
	Name    string
	Applied bool
}

// Report is the result of [Up].
type Report struct {
	// Applied are the names of the migrations, in their order.
	Applied []string
	// Notes describe the changes to rows of an earlier installation; see [Notes]. There
	// are none when the adoption was done before.
	Notes []string
}

// Up applies the pending migrations.
//
// A change of a large table may exceed the read timeout of the connection. The server
// continues and keeps the lock until the change ends, so Up waits for the lock and
// continues from there, as long as the server is available.
func Up(ctx context.Context, db *sql.DB) (Report, error) {
	return UpWith(ctx, db, nil)
}

// UpWith is like Up, and reports the progress of a long adoption to progress.
func UpWith(ctx context.Context, db *sql.DB, progress func(line string)) (Report, error) {
	set, err := all()
	if err != nil {
		return Report{}, err
	}
	set.adoption.Progress = progress
	for {
		report, err := set.up(ctx, db)
		if err == nil || ctx.Err() != nil || database.Classify(err) != database.Lost || database.Ping(ctx, db) != nil {
			return report, err
		}
	}
}

// set holds the migrations to run.
type set struct {
	files fs.FS
	kinds []*registry.Kind // to adopt
	// adoption configures the adoption of an earlier database.
	adoption legacyschema.Options
	// tableWaitSeconds bounds the wait of a statement for the lock of a table.
	tableWaitSeconds int
}

func all() (set, error) {
	r, err := registry.Load()
	if err != nil {
		return set{}, err
	}
	return set{files: files, kinds: r.Kinds(), tableWaitSeconds: tableWaitSeconds}, nil
}

func (s set) up(ctx context.Context, db *sql.DB) (Report, error) {
	p, err := s.provider(ctx, db)
	if err != nil {
		return Report{}, err
	}
	results, err := p.Up(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("apply migrations: %w", database.ReadOnly(ctx, db, err))
	}
	var report Report
	adopted := false
	for _, r := range results {
		report.Applied = append(report.Applied, r.Source.Path)
		adopted = adopted || r.Source.Version == adoptionVersion
	}
	if adopted {
		report.Notes, err = Notes(ctx, db)
	}
	return report, err
}

// List returns the state of every migration of this binary.
func List(ctx context.Context, db *sql.DB) ([]Status, error) {
	set, err := all()
	if err != nil {
		return nil, err
	}
	p, err := set.provider(ctx, db)
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
// between the database and the registry. It returns no lines when there are none.
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

// Notes lists the decisions about rows that the adoption of an earlier installation made,
// in their order; see package legacyschema. It is empty on other databases.
func Notes(ctx context.Context, db *sql.DB) (notes []string, err error) {
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?",
		schema.AdoptionTable).Scan(&tables); err != nil || tables == 0 {
		return nil, err
	}
	var rows []struct {
		Table     string `db:"table_name"`
		UID       string `db:"uid"`
		Namespace string `db:"namespace"`
		Name      string `db:"name"`
		Note      string `db:"note"`
	}
	query := "SELECT table_name, uid, namespace, name, note FROM " + schema.Quote(schema.AdoptionTable) + " ORDER BY id"
	if err := sqlx.NewDb(db, "mysql").SelectContext(ctx, &rows, query); err != nil {
		return nil, fmt.Errorf("read adoption notes: %w", err)
	}
	for _, r := range rows {
		subject := r.Table
		if r.Name != "" {
			subject += " " + r.Namespace + "/" + r.Name
		}
		if r.UID != "" {
			subject += " (uid " + r.UID + ")"
		}
		notes = append(notes, subject+": "+r.Note)
	}
	return notes, nil
}

func (s set) provider(ctx context.Context, db *sql.DB) (*goose.Provider, error) {
	store, err := newVersions()
	if err != nil {
		return nil, err
	}
	p, err := goose.NewProvider(goose.DialectCustom, db, s.files,
		goose.WithStore(store),
		goose.WithGoMigrations(adoption(s.kinds, s.adoption)),
		goose.WithAllowOutofOrder(true), // migrations are independent, and a fix for an older release has a lower number
		goose.WithSessionLocker(&sessionLock{tableWaitSeconds: s.tableWaitSeconds}),
		goose.WithDisableGlobalRegistry(true),
		goose.WithSlog(slog.New(logr.ToSlogHandler(logr.FromContextOrDiscard(ctx)))),
	)
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return p, nil
}
