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

// dying is a process that is killed after its n-th statement that changes something:
// the server has run the statement, its connections break, and nothing more is sent.
type dying struct {
	driver.Connector
	left atomic.Int64
}

// openDying returns the pool of such a process.
func openDying(t *testing.T, dsn string, n int64) (*sql.DB, *dying) {
	t.Helper()
	// Interpolated statements go to the server in one piece, so that each can be counted.
	connector, err := database.Settings{DSN: dsn + "&interpolateParams=true"}.Connector()
	if err != nil {
		t.Fatal(err)
	}
	d := &dying{Connector: connector}
	d.left.Store(n)
	return database.OpenConnector(d, database.Pool{}), d
}

// survived reports whether the process completed its work.
func (d *dying) survived() bool { return d.left.Load() > 0 }

func (d *dying) Connect(ctx context.Context) (driver.Conn, error) {
	if !d.survived() {
		return nil, errKilled
	}
	conn, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &dyingConn{Conn: conn, process: d}, nil
}

type dyingConn struct {
	driver.Conn
	process *dying
}

// Interfaces of the driver that the pool searches for.
var (
	_ driver.ExecerContext  = (*dyingConn)(nil)
	_ driver.QueryerContext = (*dyingConn)(nil)
	_ driver.ConnBeginTx    = (*dyingConn)(nil)
)

// after counts a statement, and breaks the connection when it was the last one.
func (c *dyingConn) after(statement string, err error) error {
	for _, harmless := range []string{"SELECT", "SET", "DO", "PREPARE", "DEALLOCATE"} {
		if strings.HasPrefix(strings.TrimSpace(statement), harmless) {
			return err
		}
	}
	if c.process.left.Add(-1) == 0 {
		return errors.Join(errKilled, c.Close())
	}
	return err
}

func (c *dyingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if !c.process.survived() {
		return nil, errKilled
	}
	result, err := c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
	if errors.Is(err, driver.ErrSkip) {
		return nil, err
	}
	return result, c.after(query, err)
}

func (c *dyingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if !c.process.survived() {
		return nil, errKilled
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c *dyingConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	if !c.process.survived() {
		return nil, errKilled
	}
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
	if err := c.after("BEGIN", err); err != nil {
		return nil, err
	}
	return &dyingTx{Tx: tx, conn: c}, nil
}

type dyingTx struct {
	driver.Tx
	conn *dyingConn
}

func (tx *dyingTx) Commit() error {
	if !tx.conn.process.survived() {
		return errKilled
	}
	return tx.conn.after("COMMIT", tx.Tx.Commit())
}
