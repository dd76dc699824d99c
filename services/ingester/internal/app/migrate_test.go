package app

import (
	"bytes"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

func TestMigrateCommand(t *testing.T) {
	db := dbtest.Open(t, mysqltest.DSN(t))
	steps := []struct {
		command, output, err string
	}{
		{"status", "pending", ""},
		{"verify", "migration 00001_create_model.sql is pending", "differences"},
		{"up", "applied 00001_create_model.sql", ""},
		{"up", "0 migrations applied", ""},
		{"status", "applied  00001_create_model.sql", ""},
		{"verify", "the schema matches the registry", ""},
		{"down", "", `unknown command migrate "down"`},
	}
	for _, s := range steps {
		var out bytes.Buffer
		err := migrateCommand(t.Context(), db, s.command, &out)
		if !strings.Contains(out.String(), s.output) {
			t.Errorf("%s printed %q, want %q in it", s.command, out.String(), s.output)
		}
		if (err == nil) != (s.err == "") || (err != nil && !strings.Contains(err.Error(), s.err)) {
			t.Errorf("%s: error %v, want %q", s.command, err, s.err)
		}
	}
}
