// Package mysqltest gives a test a fresh database on a real MySQL or MariaDB server.
//
//	db, err := sql.Open("mysql", mysqltest.DSN(t))
//
// The server is shared by the tests of one test binary and started by the first call, in two to three seconds; package
// mysqlserver selects that server. Private gives a test a server of its own that it may stop and start.
//
// A test that must hold on both kinds of server requests them by name:
//
//	for _, flavour := range mysqltest.Flavours() {
//		t.Run(string(flavour), func(t *testing.T) { db, err := sql.Open("mysql", mysqltest.DSNOf(t, flavour)) })
//	}
//
// Databases are created without a character set of their own: MariaDB's default is latin1 on Debian, and tables must
// declare the one that they need.
package mysqltest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
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

// shared are the servers of this test binary, by requested flavour.
var shared = struct {
	sync.Mutex
	servers map[Flavour]*mysqlserver.Server
	errs    map[Flavour]error
}{servers: map[Flavour]*mysqlserver.Server{}, errs: map[Flavour]error{}}

// DSN creates a database for the test and returns its data source name for github.com/go-sql-driver/mysql. The
// database is dropped at the end of the test. The server is whichever is quickest to get.
func DSN(t testing.TB) string {
	t.Helper()
	return DSNOf(t, mysqlserver.AnyFlavour)
}

// DSNOf is DSN on a server of the flavour.
func DSNOf(t testing.TB, f Flavour) string {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.servers[f] == nil && shared.errs[f] == nil {
		// The watchdog removes the server when this process ends.
		shared.servers[f], _, shared.errs[f] = start(f)
	}
	if err := shared.errs[f]; err != nil {
		t.Fatalf("start a MySQL server: %v", err)
	}
	return database(t, shared.servers[f])
}

// Server is a server of one test alone.
type Server struct {
	t      testing.TB
	server *mysqlserver.Server
}

// Private starts a server for this test alone. It fails the test when FLOTILLA_MYSQL_DSN is set, since that server
// cannot be stopped.
func Private(t testing.TB) *Server {
	t.Helper()
	return PrivateOf(t, mysqlserver.AnyFlavour)
}

// PrivateOf is Private with a server of the flavour.
func PrivateOf(t testing.TB, f Flavour) *Server {
	t.Helper()
	if os.Getenv(mysqlserver.EnvDSN) != "" {
		t.Fatalf("this test stops its MySQL server, so it cannot use the one of %s; unset the variable", mysqlserver.EnvDSN)
	}
	server, guard, err := start(f)
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

// Kill ends the server at once (SIGKILL); connections break, committed data stays.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.server.Kill(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
}

// Address is the server's host:port, for a proxy in front of it.
func (s *Server) Address() string { return s.server.Address() }

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
func start(f Flavour) (*mysqlserver.Server, *watchdog.Guard, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var errs []error
	for range attempts {
		server, guard, err := startOnce(ctx, f)
		if err == nil || errors.Is(err, mysqlserver.ErrNone) {
			return server, guard, err
		}
		errs = append(errs, err)
	}
	return nil, nil, errors.Join(errs...)
}

func startOnce(ctx context.Context, f Flavour) (*mysqlserver.Server, *watchdog.Guard, error) {
	port, err := freeport.One()
	if err != nil {
		return nil, nil, err
	}
	// A schema of 40 tables waits for hundreds of writes to a disk. In memory a crash of the server alone loses nothing
	// either.
	folder, err := watchdog.NewDirectory(watchdog.Need{Prefix: "flotilla-mysql-", Key: markerKey, Memory: 4 << 30, Container: true})
	if err != nil {
		return nil, nil, err
	}
	server, err := mysqlserver.Start(ctx, mysqlserver.Config{
		Name: filepath.Base(folder.Path), Dir: folder.Path, Port: port, Flavour: f, Marker: folder.Marker, Say: say,
	})
	if err != nil {
		return nil, nil, errors.Join(err, folder.Release())
	}
	return server, folder.Guard, nil
}

// say bypasses the output buffering of go test: an installation must be visible at once.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "mysqltest: "+format+"\n", args...)
}

// databaseName makes a name out of a test name, within MySQL's 64 characters.
func databaseName(test string) string {
	const longest = 40
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(test))
	return fmt.Sprintf("t_%.*s_%s", longest, clean, strings.ToLower(rand.Text()[:6]))
}
