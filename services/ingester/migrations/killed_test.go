package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

var errKilled = errors.New("this process was killed")

// killedProcess is a process that is killed after its n-th statement that changes something:
// the server has run the statement, its connections break, and nothing more is sent.
type killedProcess struct {
	driver.Connector
	remaining atomic.Int64
}

// openKilled returns the pool of such a process.
func openKilled(t *testing.T, dsn string, n int64) (*sql.DB, *killedProcess) {
	t.Helper()
	// Interpolated statements go to the server in one piece, so that each can be counted.
	connector, err := database.Settings{DSN: dsn + "&interpolateParams=true"}.Connector()
	if err != nil {
		t.Fatal(err)
	}
	d := &killedProcess{Connector: connector}
	d.remaining.Store(n)
	return database.OpenConnector(d, database.Pool{}), d
}

// alive reports whether the process completed its work.
func (d *killedProcess) alive() bool { return d.remaining.Load() > 0 }

func (d *killedProcess) Connect(ctx context.Context) (driver.Conn, error) {
	if !d.alive() {
		return nil, errKilled
	}
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &killedConn{Conn: conn, process: d}, nil
}

type killedConn struct {
	driver.Conn
	process *killedProcess
}

// Interfaces of the driver that the pool searches for.
var (
	_ driver.ExecerContext  = (*killedConn)(nil)
	_ driver.QueryerContext = (*killedConn)(nil)
	_ driver.ConnBeginTx    = (*killedConn)(nil)
)

// countStatement counts a statement, and breaks the connection when it was the last one.
func (c *killedConn) countStatement(statement string, err error) error {
	for _, readOnly := range []string{"SELECT", "SET", "DO", "PREPARE", "DEALLOCATE"} {
		if strings.HasPrefix(strings.TrimSpace(statement), readOnly) {
			return err
		}
	}
	if c.process.remaining.Add(-1) == 0 {
		return errors.Join(errKilled, c.Close())
	}
	return err
}

func (c *killedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !c.process.alive() {
		return nil, errKilled
	}
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if errors.Is(err, driver.ErrSkip) {
		return nil, err
	}
	return result, c.countStatement(query, err)
}

func (c *killedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !c.process.alive() {
		return nil, errKilled
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *killedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if !c.process.alive() {
		return nil, errKilled
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
	if err := c.countStatement("BEGIN", err); err != nil {
		return nil, err
	}
	return &killedTx{Tx: tx, conn: c}, nil
}

type killedTx struct {
	driver.Tx
	conn *killedConn
}

func (tx *killedTx) Commit() error {
	if !tx.conn.process.alive() {
		return errKilled
	}
	return tx.conn.countStatement("COMMIT", tx.Tx.Commit())
}
