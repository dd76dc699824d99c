// Package mysqltest provides a new database for each test on a real MySQL or MariaDB server.
//
//	db, err := sql.Open("mysql", mysqltest.DSN(t))
//
// The tests of one test binary share a server, which the first call starts in two to three seconds; package mysqlserver
// selects it. Private starts a server for one test, which may stop and start it.
//
// A test that must pass on both kinds of server requests them by name:
//
//	for _, vendor := range mysqltest.Vendors() {
//		t.Run(string(vendor), func(t *testing.T) { db, err := sql.Open("mysql", mysqltest.DSNOf(t, vendor)) })
//	}
//
// Databases have the default character set of the server, which is latin1 for MariaDB on Debian, so tables must declare
// the one that they need.
package mysqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

const (
	markerKey    = "FLOTILLA_TEST_MYSQL"
	attempts     = 3                // with other ports
	startTimeout = 20 * time.Minute // an installation, or an image to pull
	stepTimeout  = 2 * time.Minute
)

// shared are the servers of this test binary, by requested vendor.
var shared = struct {
	sync.Mutex
	servers map[Vendor]*mysqlserver.Server
	errs    map[Vendor]error
}{servers: map[Vendor]*mysqlserver.Server{}, errs: map[Vendor]error{}}

// DSN creates a database for the test and returns its data source name for github.com/go-sql-driver/mysql. The
// database is dropped at the end of the test. The server is the one that starts fastest.
func DSN(t testing.TB) string {
	t.Helper()
	return DSNOf(t, mysqlserver.AnyVendor)
}

// DSNOf is DSN for a server of the vendor.
func DSNOf(t testing.TB, v Vendor) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.servers[v] == nil && shared.errs[v] == nil {
		// The watchdog removes the server when this process ends.
		shared.servers[v], _, shared.errs[v] = start(mysqlserver.Config{Vendor: v})
	}
	if err := shared.errs[v]; err != nil {
		t.Fatalf("start a MySQL server: %v", err)
	}
	return database(t, shared.servers[v])
}

// Server is a private server of one test.
type Server struct {
	t      testing.TB
	server *mysqlserver.Server
}

// Private starts a server for this test only. It fails the test if FLOTILLA_MYSQL_DSN is set, since that server cannot
// be stopped.
func Private(t testing.TB) *Server {
	t.Helper()
	return PrivateOf(t, mysqlserver.AnyVendor)
}

// PrivateOf is Private with a server of the vendor.
func PrivateOf(t testing.TB, v Vendor) *Server {
	t.Helper()
	return private(t, mysqlserver.Config{Vendor: v})
}

// PrivateWithBinaryLog is PrivateOf with a server that writes a binary log.
func PrivateWithBinaryLog(t testing.TB, v Vendor) *Server {
	t.Helper()
	return private(t, mysqlserver.Config{Vendor: v, BinaryLog: true})
}

func private(t testing.TB, cfg mysqlserver.Config) *Server {
	t.Helper()
	if os.Getenv(mysqlserver.EnvDSN) != "" {
		t.Fatalf("this test stops its MySQL server, so it cannot use the one of %s; unset the variable", mysqlserver.EnvDSN)
	}
	server, guard, err := start(cfg)
	if err != nil {
		t.Fatalf("start a MySQL server: %v", err)
	}
	t.Cleanup(func() {
		if err := guard.Release(); err != nil {
			t.Error(err)
		}
	})
	return &Server{t: t, server: server}
}

// DSN creates a database and returns its data source name. The database is removed with the server.
func (s *Server) DSN() string {
	s.t.Helper()
	name := databaseName(s.t.Name())
	if err := s.server.CreateDatabase(s.t.Context(), name); err != nil {
		s.t.Fatal(err)
	}
	return s.server.DSN(name)
}

// Stop stops the server; connections break, data stays.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.server.Stop(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// Kill kills the server (SIGKILL); connections break, committed data stays.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.server.Kill(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// Address returns host:port of the server, for a proxy in front of it.
func (s *Server) Address() string { return s.server.Address() }

// Program returns the command of a client program of the server's vendor, connected to the server. args follow the
// connection arguments.
func (s *Server) Program(program mysqlserver.Program, args ...string) *exec.Cmd {
	s.t.Helper()
	cmd, err := s.server.Program(s.t.Context(), logf, program, args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return cmd
}

// Start starts the server again after Stop or Kill, at the same address.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.server.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

func database(t testing.TB, server *mysqlserver.Server) string {
	t.Helper()
	name := databaseName(t.Name())
	if err := server.CreateDatabase(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
		defer cancel()
		if err := server.DropDatabase(ctx, name); err != nil {
			t.Error(err)
		}
	})
	return server.DSN(name)
}

// start starts a server that the watchdog removes.
func start(cfg mysqlserver.Config) (*mysqlserver.Server, *watchdog.Guard, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var errs []error
	for range attempts {
		server, guard, err := startOnce(ctx, cfg)
		if err == nil || errors.Is(err, mysqlserver.ErrNone) {
			return server, guard, err
		}
		errs = append(errs, err)
	}
	return nil, nil, errors.Join(errs...)
}

func startOnce(ctx context.Context, cfg mysqlserver.Config) (*mysqlserver.Server, *watchdog.Guard, error) {
	port, err := freeport.One()
	if err != nil {
		return nil, nil, err
	}
	// Creating a schema of 40 tables waits for hundreds of disk writes. A crash of the server loses no data in memory
	// either.
	directory, err := watchdog.NewDirectory(watchdog.Options{Prefix: "flotilla-mysql-", Key: markerKey, Memory: 4 << 30, Container: true})
	if err != nil {
		return nil, nil, err
	}
	cfg.Name, cfg.Dir, cfg.Port, cfg.Marker, cfg.Logf = filepath.Base(directory.Path), directory.Path, port, directory.Marker, logf
	server, err := mysqlserver.Start(ctx, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, directory.Release())
	}
	return server, directory.Guard, nil
}

// logf bypasses the output buffering of go test: an installation must be visible at once.
func logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "mysqltest: "+format+"\n", args...)
}

// databaseName converts a test name to a database name of at most 64 characters, MySQL's limit.
func databaseName(test string) string {
	const maxLength = 40
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	return fmt.Sprintf("t_%.*s_%s", maxLength, clean, strings.ToLower(rand.Text()[:6]))
}
