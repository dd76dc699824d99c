package schema_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

func TestMigrationsCoverRegistry(t *testing.T) {
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	missing, err := schema.Missing(os.DirFS("../../migrations"), schema.Tables(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range missing {
		t.Errorf("migration %s is missing: run go generate ./internal/registry", f.Name)
	}
}

func TestPageIsCurrent(t *testing.T) {
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile("../../docs/schema.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(committed), string(schema.Page(r))); diff != "" {
		t.Errorf("docs/schema.md is not current, run go generate ./internal/registry (-committed +fresh):\n%s", diff)
	}
}

// TestNewFieldAddsOneMigration adds an index option.
func TestNewFieldAddsOneMigration(t *testing.T) {
	dir := fstest.MapFS{
		"00004_create_thing.sql": {Data: []byte("-- makes: table thing\n-- makes: column thing.uid\n-- makes: index thing.PRIMARY\n")},
		"00005_repair_things.go": {}, // migrations in Go are numbered with the others
		"other.go":               {},
	}
	want := schema.Table{
		Name:    "thing",
		Columns: []schema.Column{{Name: "uid", Type: "VARCHAR(64)", Attributes: "NOT NULL"}, {Name: "tier", Type: "INT", Attributes: "NULL"}},
		Keys:    []schema.Key{{Name: "PRIMARY", Unique: true, Columns: []string{"uid"}}, {Name: "idx_tier", Columns: []string{"tier"}}},
	}
	got, err := schema.Missing(dir, []schema.Table{want})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(got))
	for _, f := range got {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"00006_add_thing_tier.sql", "00007_add_thing_idx_tier.sql"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}
