package checkpoint_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/checkpoint"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// proxy connects to a primary and a replica, like a proxy that splits reads and writes: queries outside of transactions, and those
// of read-only ones, are routed to the replica.
type proxy struct {
	driver.Connector
	replica driver.Connector
}

// mysqlConn is what the driver implements.
type mysqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
}

type proxyConn struct {
	mysqlConn
	replica       mysqlConn
	inTransaction bool
}

type proxyTx struct {
	driver.Tx
	conn *proxyConn
}

func (p *proxy) Connect(ctx context.Context) (driver.Conn, error) {
	primary, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	replica, err := p.replica.Connect(ctx)
	if err != nil {
		return nil, errors.Join(err, primary.Close())
	}
	return &proxyConn{mysqlConn: primary.(mysqlConn), replica: replica.(mysqlConn)}, nil
}

func (c *proxyConn) Close() error { return errors.Join(c.mysqlConn.Close(), c.replica.Close()) }

func (c *proxyConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	tx, err := c.mysqlConn.BeginTx(ctx, options)
	c.inTransaction = err == nil && !options.ReadOnly
	return &proxyTx{tx, c}, err
}

func (t *proxyTx) Commit() error {
	t.conn.inTransaction = false
	return t.Tx.Commit()
}

func (t *proxyTx) Rollback() error {
	t.conn.inTransaction = false
	return t.Tx.Rollback()
}

func (c *proxyConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.inTransaction {
		return c.mysqlConn.QueryContext(ctx, query, args)
	}
	return c.replica.QueryContext(ctx, query, args)
}

// TestLaggingReplicaIsNotBehind evicts behind a proxy whose replica has none of the evictions.
func TestLaggingReplicaIsNotBehind(t *testing.T) {
	connector := func() driver.Connector {
		_, dsn := dbtest.Migrated(t)
		c, err := database.Connector(dsn)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	db := database.OpenConnector(&proxy{connector(), connector()}, database.Pool{})
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	k, _ := newTracker(t, &server{}, func(c *checkpoint.Config) { c.DB = db })
	for range 2 {
		if err := k.Advance(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(k.Behind(t.Context()), k.Check(t.Context())); err != nil {
			t.Error(err)
		}
	}
}

// TestReadDoesNotWait reads the number while an increment holds its row.
func TestReadDoesNotWait(t *testing.T) {
	k, cfg := newTracker(t, &server{}, nil)
	if err := k.Advance(t.Context()); err != nil {
		t.Fatal(err)
	}
	tx, err := cfg.DB.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) && err != nil {
			t.Error(err)
		}
	})
	if _, err := tx.ExecContext(t.Context(), "UPDATE checkpoint SET number = 2"); err != nil {
		t.Fatal(err)
	}
	if n, err := checkpoint.Stored(t.Context(), cfg.DB); err != nil || n != 1 {
		t.Errorf("got %d, %v, want 1", n, err)
	}
}
