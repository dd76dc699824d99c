package mysqlserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
)

// EnvDSN names the variable with the DSN of an existing server to use instead of starting one.
const EnvDSN = "FLOTILLA_MYSQL_DSN"

// DSN returns the data source name for a database on the server, in the format of github.com/go-sql-driver/mysql. Times
// are UTC, the client truncates them to microseconds (MySQL rounds, MariaDB truncates), and the server's limit of the
// packet size applies.
func (s *Server) DSN(database string) string {
	login := s.login.Clone()
	login.DBName = database
	// The driver writes the duration with a Greek letter, which some terminals and YAML tools do not handle.
	return strings.Replace(login.FormatDSN(), "=1µs", "=1us", 1)
}

func local(cfg Config, name string) (*mysql.Config, error) {
	login := mysql.NewConfig()
	login.User, login.Passwd = name, password
	login.Net, login.Addr = "tcp", freeport.Address(cfg.Port)
	return complete(login)
}

// complete sets the connection parameters that Flotilla's services expect.
func complete(login *mysql.Config) (*mysql.Config, error) {
	if err := login.Apply(mysql.TimeTruncate(time.Microsecond)); err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	login.ParseTime = true
	login.Loc = time.UTC
	login.MaxAllowedPacket = 0
	login.Collation = "utf8mb4_bin"
	if login.Params == nil {
		login.Params = map[string]string{}
	}
	login.Params["time_zone"] = "'+00:00'"
	return login, nil
}

func fromEnvironment(ctx context.Context, cfg Config) (*Server, error) {
	dsn := os.Getenv(EnvDSN)
	if dsn == "" {
		return nil, unavailable{EnvDSN + " is not set"}
	}
	login, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", EnvDSN, err)
	}
	login.DBName = ""
	if login, err = complete(login); err != nil {
		return nil, err
	}
	s := &Server{Source: "the server of " + EnvDSN + " at " + login.Addr, login: login, backend: external{}}
	if cfg.Vendor == AnyVendor {
		return s, nil
	}
	actual, err := s.Vendor(ctx)
	if err != nil {
		return nil, fmt.Errorf("correct or unset %s: %w", EnvDSN, err)
	}
	if actual != cfg.Vendor {
		return nil, unavailable{fmt.Sprintf("%s is %s, not %s", s.Source, actual.displayName(), cfg.Vendor.displayName())}
	}
	return s, nil
}

// external is a server that this package did not start.
type external struct{}

var (
	errExternal   = errors.New("not started by Flotilla; unset " + EnvDSN + " for tests that stop their server")
	errNotRunning = errors.New("the server does not run")
)

func (external) start(ctx context.Context, s *Server) error {
	if err := s.Ping(ctx); err != nil {
		return fmt.Errorf("no answer; correct or unset %s: %w", EnvDSN, err)
	}
	return nil
}

func (external) stop(context.Context) error   { return errExternal }
func (external) kill(context.Context) error   { return errExternal }
func (external) remove(context.Context) error { return nil }
