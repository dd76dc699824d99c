package schema_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// TestGeneratedChangesCanRunTwice runs the generated migrations for a new column and two indexes
// twice, with the real migration runner. The second time, one of the indexes is missing.
func TestGeneratedChangesCanRunTwice(t *testing.T) {
	table := schema.Table{
		Name:    "thing",
		Columns: []schema.Column{{Name: "uid", Type: "VARCHAR(64)", Attributes: "NOT NULL"}, {Name: "note", Type: "VARCHAR(9)", Attributes: "NOT NULL DEFAULT ''"}},
		Keys:    []schema.Key{{Name: "PRIMARY", Unique: true, Columns: []string{"uid"}}, {Name: "idx_note", Columns: []string{"note"}}, {Name: "idx_note_uid", Columns: []string{"note", "uid"}}},
	}
	first := schema.Table{Name: table.Name, Columns: table.Columns[:1], Keys: table.Keys[:1]}
	dir := fstest.MapFS{}
	for _, want := range []schema.Table{first, table} {
		files, err := schema.Missing(dir, []schema.Table{want})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			dir[f.Name] = &fstest.MapFile{Data: []byte(f.Content)}
		}
	}
	if len(dir) != 3 {
		t.Fatalf("%d files, want 3", len(dir))
	}
	db, err := database.Open(mysqltest.DSN(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 2 {
		if err := migrate(t, db, dir); err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{"DELETE FROM goose_db_version WHERE version_id > 0", "ALTER TABLE thing DROP KEY idx_note"} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := migrate(t, db, dir); err != nil {
		t.Fatal(err)
	}
	drift, err := schema.Compare(t.Context(), db, []schema.Table{table})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drift {
		t.Error(d)
	}
}

func migrate(t *testing.T, db *sql.DB, dir fs.FS) error {
	t.Helper()
	p, err := goose.NewProvider(goose.DialectMySQL, db, dir)
	if err != nil {
		return err
	}
	_, err = p.Up(t.Context())
	if partial, ok := errors.AsType[*goose.PartialError](err); ok {
		return errors.New(strings.TrimSpace(partial.Error()))
	}
	return err
}
