package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

const stepTimeout = time.Minute

// Server is a running PostgreSQL server.
type Server struct {
	// Bin is the directory of its programs and of the clients: psql, pg_dump, createdb, dropdb.
	Bin  string
	Host string
	Port int
	// User is a superuser.
	User, Password string
}

var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// Shared returns the server of this test binary. The first call starts it.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		// The watchdog removes the server when this process ends.
		shared.server, shared.err = start()
	}
	if shared.err != nil {
		t.Fatalf("start a PostgreSQL server: %v", shared.err)
	}
	return shared.server
}

// Database creates an empty database for the test, which is dropped at its end, and returns its name.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text()[:12])
	s.Query(t, "postgres", "CREATE DATABASE "+Identifier(name))
	s.DropAtEnd(t, name)
	return name
}

// DropAtEnd drops a database at the end of the test, even if it has open connections.
func (s *Server) DropAtEnd(t testing.TB, name string) {
	t.Helper()
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
		defer cancel()
		if _, err := s.psql(ctx, "postgres", "DROP DATABASE IF EXISTS "+Identifier(name)+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
}

// Query runs statements in a database and returns the rows: one per line, columns separated by |.
func (s *Server) Query(t testing.TB, database, statements string) string {
	t.Helper()
	out, err := s.psql(t.Context(), database, statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Environment returns the environment variables with which PostgreSQL clients connect to a database.
func (s *Server) Environment(database string) []string {
	return []string{
		"PGHOST=" + s.Host, "PGPORT=" + strconv.Itoa(s.Port), "PGUSER=" + s.User, "PGPASSWORD=" + s.Password,
		"PGDATABASE=" + database,
	}
}

func (s *Server) psql(ctx context.Context, database, statements string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.Bin, "psql"),
		"--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1")
	cmd.Env = append(os.Environ(), s.Environment(database)...)
	cmd.Env = append(cmd.Env, "PGCLIENTENCODING=UTF8")
	cmd.Stdin = strings.NewReader(statements)
	out, err := proc.Output(cmd)
	if err != nil {
		return "", fmt.Errorf("run %q in database %q: %w", statements, database, err)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// Identifier quotes a name for SQL.
func Identifier(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Literal quotes a text for SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
