package postgres_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/postgres"
)

func TestDatabaseIsEmptyAndSeparate(t *testing.T) {
	server := postgres.Shared(t)
	first, second := server.Database(t), server.Database(t)
	server.Query(t, first, "CREATE TABLE boat (name text); INSERT INTO boat VALUES ('a|b'), ('ü')")
	if got := server.Query(t, first, "SELECT name FROM boat ORDER BY name"); got != "a|b\nü" {
		t.Errorf("got %q", got)
	}
	if got := server.Query(t, second, "SELECT to_regclass('boat') IS NULL"); got != "t" {
		t.Errorf("a new database contains the table of another: %s", got)
	}
}

func TestServerRejectsWrongPassword(t *testing.T) {
	server := *postgres.Shared(t)
	server.Password = "wrong"
	psql := exec.CommandContext(t.Context(), filepath.Join(server.Bin, "psql"), "--command=SELECT 1")
	psql.Env = append(os.Environ(), server.Environment("postgres")...)
	out, err := psql.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "password authentication failed") {
		t.Errorf("got %v: %s", err, out)
	}
}

func TestIdentifierQuotesHostileNames(t *testing.T) {
	server := postgres.Shared(t)
	name := `it's "-- a; b` + "\n" + t.Name()
	server.Query(t, "postgres", "CREATE DATABASE "+postgres.Identifier(name))
	server.DropAtEnd(t, name)
	if got := server.Query(t, name, "SELECT current_database() = "+postgres.Literal(name)); got != "t" {
		t.Errorf("got %q", got)
	}
}

func TestStandbyAcceptsReadsOnly(t *testing.T) {
	server := postgres.Shared(t)
	name := server.Database(t)
	server.Query(t, name, "CREATE TABLE boats (name text); INSERT INTO boats VALUES ('one')")
	standby := server.Standby(t)
	if got := standby.Query(t, name, "SELECT name FROM boats"); got != "one" {
		t.Errorf("got %q, want one", got)
	}
	if got := standby.Query(t, name, "SHOW transaction_read_only"); got != "on" {
		t.Errorf("transaction_read_only is %q, want on", got)
	}
}
