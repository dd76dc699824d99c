package mysqlserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

// ErrNone is returned if no server was found and none could be started. The message includes the remedy.
var ErrNone = errors.New("no MySQL server")

// Config describes the server to start.
type Config struct {
	// Name is unique on this machine; it is the name of the container.
	Name string
	// Dir holds the data and the log of a private server. It must be used by this server only.
	Dir string
	// Port on loopback.
	Port int
	// Log is the log file of a private server; mysqld.log in Dir when empty.
	Log string
	// Vendor is the required kind of server; AnyVendor selects the one that starts fastest.
	Vendor Vendor
	// BinaryLog makes a MariaDB server write a binary log; MySQL always does.
	BinaryLog bool
	// Marker is a KEY=value that a private server gets in its environment.
	Marker string
	// Logf receives messages about slow steps and about changes of the machine.
	Logf func(format string, args ...any)
}

// Server is a MySQL-compatible server.
type Server struct {
	// Source describes the server.
	Source string
	// Container is the container's name, or empty.
	Container string
	// Log is the log file of a private server, or empty.
	Log string

	login   *mysql.Config
	backend backend
}

// backend is one way to run a server. Its start finds a running server of the same Config and keeps it.
type backend interface {
	start(ctx context.Context, s *Server) error
	stop(ctx context.Context) error
	kill(ctx context.Context) error
	remove(ctx context.Context) error
}

func (c Config) logFile() string {
	if c.Log != "" {
		return c.Log
	}
	return filepath.Join(c.Dir, "mysqld.log")
}

// unavailable is the reason why a source of servers cannot be used; Start then tries the next one.
type unavailable struct{ reason string }

func (u unavailable) Error() string { return u.reason }

const (
	user     = "flotilla"
	password = "flotilla" // of a throw-away server on loopback
	// answerTimeout is generous: a container of MySQL initializes its data directory first.
	answerTimeout = 2 * time.Minute
	// pingTimeout is short: Docker accepts connections for a container in which no server listens yet.
	pingTimeout = 5 * time.Second
)

// Start finds or starts a server and returns once it answers. It prefers a private server with data in Config.Dir, even
// if Docker has become available since.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s, err := choose(ctx, cfg, fromEnvironment, existingServer, dockerServer, localServer, installed, unpacked)
	if err != nil {
		return nil, err
	}
	return s, s.Start(ctx)
}

// Existing returns the server that an earlier Start of the same Config chose, running or not. It does not start, pull or
// install anything. It returns ErrNone if there is no such server.
func Existing(ctx context.Context, cfg Config) (*Server, error) {
	return choose(ctx, cfg, fromEnvironment, existingServer, existingContainer)
}

// choose returns the server of the first source that is available.
func choose(ctx context.Context, cfg Config, sources ...func(context.Context, Config) (*Server, error)) (*Server, error) {
	var reasons []string
	for _, source := range sources {
		s, err := source(ctx, cfg)
		var reason unavailable
		if !errors.As(err, &reason) {
			return s, err
		}
		if reason.reason != "" {
			reasons = append(reasons, "- "+reason.reason)
		}
	}
	return nil, fmt.Errorf("%w: start Docker, install %s, or set %s to user:password@tcp(host:port)/\n%s",
		ErrNone, cfg.Vendor.packages(), EnvDSN, strings.Join(reasons, "\n"))
}

// Start starts the server again after Stop, on its port and with its data.
func (s *Server) Start(ctx context.Context) error {
	if err := s.backend.start(ctx, s); err != nil {
		return fmt.Errorf("start %s: %w", s.Source, err)
	}
	return nil
}

// Stop stops the server and keeps its data. The server of FLOTILLA_MYSQL_DSN cannot be stopped.
func (s *Server) Stop(ctx context.Context) error {
	if err := s.backend.stop(ctx); err != nil {
		return fmt.Errorf("stop %s: %w", s.Source, err)
	}
	return nil
}

// Kill kills the server (SIGKILL), like a crash of its machine: connections break, committed data stays. Start starts it
// again. Kill fails if the server does not run; the server of FLOTILLA_MYSQL_DSN cannot be killed.
func (s *Server) Kill(ctx context.Context) error {
	if err := s.backend.kill(ctx); err != nil {
		return fmt.Errorf("kill %s: %w", s.Source, err)
	}
	return nil
}

// Remove stops the server and removes its data. It does nothing to the server of FLOTILLA_MYSQL_DSN.
func (s *Server) Remove(ctx context.Context) error {
	if err := s.backend.remove(ctx); err != nil {
		return fmt.Errorf("remove %s: %w", s.Source, err)
	}
	return nil
}

// External reports whether the server is the one of FLOTILLA_MYSQL_DSN, which this package did not start.
func (s *Server) External() bool {
	_, ok := s.backend.(external)
	return ok
}

// Address returns host:port.
func (s *Server) Address() string { return s.login.Addr }

// RunningPID returns the process id of a running private server, else 0.
func (s *Server) RunningPID() int {
	if p, ok := s.backend.(*program); ok {
		return p.pid()
	}
	return 0
}

// Ping returns nil if the server answers within seconds.
func (s *Server) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	return s.exec(ctx, "DO 1")
}

// CreateDatabase creates a database unless it exists. It does not set a character set: tables must declare the one that
// they need, since the defaults of servers differ.
func (s *Server) CreateDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "CREATE DATABASE IF NOT EXISTS "+quote(name))
}

// DropDatabase removes a database if it exists.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	return s.exec(ctx, "DROP DATABASE IF EXISTS "+quote(name))
}

// Vendor returns the vendor that the server reports.
func (s *Server) Vendor(ctx context.Context) (Vendor, error) {
	var version string
	err := s.connected(func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&version)
	})
	if err != nil {
		return AnyVendor, fmt.Errorf("get the version of %s: %w", s.Source, err)
	}
	return vendorOf(version), nil
}

func (s *Server) exec(ctx context.Context, statement string) error {
	return s.connected(func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("run %q: %w", statement, err)
		}
		return nil
	})
}

// connected calls do with a new connection, since a restart of the server breaks existing ones.
func (s *Server) connected(do func(*sql.DB) error) (err error) {
	login := s.login.Clone()
	login.Logger = &mysql.NopLogger{} // errors are returned; while a server starts, the driver would log many
	connector, err := mysql.NewConnector(login)
	if err != nil {
		return fmt.Errorf("open a connection to %s: %w", s.Source, err)
	}
	db := sql.OpenDB(connector)
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(db)
}

// waitReady waits until the server answers, or until gone returns the reason why the server stopped.
func (s *Server) waitReady(ctx context.Context, stopReason func() error) error {
	err := await.Nil(ctx, answerTimeout, 200*time.Millisecond, func(ctx context.Context) error {
		err := s.Ping(ctx)
		if err != nil {
			if stopErr := stopReason(); stopErr != nil {
				return await.Stop(stopErr)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("no answer at %s: %w", s.login.Addr, err)
	}
	return nil
}

func quote(name string) string {
	return "`" + strings.ReplaceAll(name, "`", "``") + "`"
}
