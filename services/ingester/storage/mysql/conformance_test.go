package mysql_test

import (
	"context"
	"testing"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/conformance"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

func TestConformance(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			dsn := mysqltest.DSNOf(t, vendor)
			conformance.Run(t, func(t *testing.T) storage.IngesterStorage {
				t.Helper()
				s := openOn(t, dsn, mysql.Options{})
				emptied(t, s)
				s.AlternatePlans()
				return s
			})
		})
	}
}

// openOn opens a store that accepts writes.
func openOn(t testing.TB, dsn string, options mysql.Options) *mysql.Storage {
	t.Helper()
	options.DSN, options.Log = dsn, logr.Discard()
	s, err := mysql.Open(context.WithoutCancel(t.Context()), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.SetIncarnation(1)
	return s
}

// emptied empties all tables of the kinds: quicker than another database with its migrations.
func emptied(t testing.TB, s *mysql.Storage) {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range schema.Tables(kinds) {
		if table.Name == schema.IncarnationTable {
			continue
		}
		if _, err := s.DB().ExecContext(t.Context(), "DELETE FROM "+schema.Quote(table.Name)); err != nil {
			t.Fatal(err)
		}
	}
}
