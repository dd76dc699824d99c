package components

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqlserver"
)

const mysqlPort = "mysql"

var errMySQLDown = errors.New("MySQL is not running; start it with `make up`")

// MySQL is the server that package mysqlserver chooses, with one database for the stack.
type MySQL struct {
	env    *Env
	server *mysqlserver.Server // once found
}

// NewMySQL returns the component without finding a server.
func NewMySQL(env *Env) *MySQL { return &MySQL{env: env} }

// Name returns the name of the component.
func (m *MySQL) Name() string { return "mysql" }

// Logs returns the log of a private server. Servers in Docker or of FLOTILLA_MYSQL_DSN have none here.
func (m *MySQL) Logs() map[string]string {
	return map[string]string{m.Name(): m.env.Checkout.Log(m.Name())}
}

// DSN returns the DSN of the stack's database once the server was found.
func (m *MySQL) DSN() string {
	if m.server == nil {
		return ""
	}
	return m.server.DSN(m.database())
}

// database returns a name that contains the ID of the stack, since stacks may share the server of FLOTILLA_MYSQL_DSN.
func (m *MySQL) database() string { return "flotilla_" + m.env.Checkout.ID() }

// Container returns the name of the container for a server in Docker.
func (m *MySQL) Container() string { return "flotilla-" + m.env.Checkout.ID() + "-mysql" }

func (m *MySQL) config(port portFunc) (mysqlserver.Config, error) {
	number, err := port(mysqlPort)
	return mysqlserver.Config{
		Name:   m.Container(),
		Dir:    m.env.Checkout.Local("mysql"),
		Port:   number,
		Log:    m.env.Checkout.Log(m.Name()),
		Marker: m.env.Checkout.Marker(),
		Logf:   m.env.Logf,
	}, err
}

// find attaches to the server that an earlier Ensure chose.
func (m *MySQL) find(ctx context.Context) error {
	cfg, err := m.config(m.env.State.Port)
	if err != nil {
		return err
	}
	m.server, err = mysqlserver.Existing(ctx, cfg)
	return err
}

// Ensure starts the server and creates the database.
func (m *MySQL) Ensure(ctx context.Context) (Outcome, error) {
	outcome := Reused
	if err := m.find(ctx); err != nil || m.ping(ctx) != nil {
		outcome = Started
		if err := m.start(ctx); err != nil {
			return "", err
		}
	}
	m.env.Logf("  using %s", m.server.Source)
	return outcome, m.server.CreateDatabase(ctx, m.database())
}

// start starts a server, after stopping the remains of one that does not answer. It picks another port if another
// process has taken the previous one.
func (m *MySQL) start(ctx context.Context) error {
	if m.server != nil && !m.server.External() {
		if err := m.server.Stop(ctx); err != nil {
			return err
		}
		if m.server.Container != "" && !freeport.Free(m.env.State.Ports[mysqlPort]) {
			// The port of a container cannot change.
			if err := m.server.Remove(ctx); err != nil {
				return err
			}
		}
	}
	cfg, err := m.config(m.env.State.Assign)
	if err != nil {
		return err
	}
	m.server, err = mysqlserver.Start(ctx, cfg)
	return err
}

// Stop stops the server and keeps its data.
func (m *MySQL) Stop(ctx context.Context) error {
	if err := m.find(ctx); err != nil {
		return ignoreNone(err)
	}
	return m.server.Stop(ctx)
}

// Remove removes the resources that remain after the processes of the stack are killed: the container, or the database
// on the server of FLOTILLA_MYSQL_DSN.
func (m *MySQL) Remove(ctx context.Context) error {
	if _, known := m.env.State.Ports[mysqlPort]; !known {
		return nil
	}
	if err := m.find(ctx); err != nil {
		return ignoreNone(err)
	}
	if m.server.External() {
		return m.server.DropDatabase(ctx, m.database())
	}
	return m.server.Remove(ctx)
}

func ignoreNone(err error) error {
	if errors.Is(err, mysqlserver.ErrNone) {
		return nil
	}
	return err
}

// Status returns the status of the server.
func (m *MySQL) Status(ctx context.Context) []Status {
	s := Status{Name: m.Name(), Health: "not running"}
	if _, known := m.env.State.Ports[mysqlPort]; !known {
		return []Status{s}
	}
	if err := m.find(ctx); err != nil {
		if !errors.Is(err, mysqlserver.ErrNone) {
			s.Health = err.Error()
		}
		return []Status{s}
	}
	if err := m.ping(ctx); err != nil {
		s.Health = fmt.Sprintf("not running (%s)", m.server.Source)
		return []Status{s}
	}
	s.Address, s.PID, s.Health = m.server.Address(), m.server.RunningPID(), OK
	return []Status{s}
}

func (m *MySQL) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return m.server.Ping(ctx)
}
