package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// readConns is the number of connections of queries.
const readConns = 8

func (s *Storage) openPools() error {
	connector, pool := s.options.Connector, s.options.Pool
	if connector == nil {
		var err error
		if connector, err = database.Connector(s.options.DSN); err != nil {
			return err
		}
		pool = Pool{}
	}
	limited := connector
	if s.options.StatementTimeout > 0 {
		limited = database.Limited(connector, s.options.StatementTimeout)
	}
	s.db, s.pool = database.OpenConnector(connector, pool), pool
	s.reads = database.OpenConnector(limited, Pool{MaxOpen: readConns, MaxIdle: readConns, MaxLifetime: pool.MaxLifetime})
	s.probe = database.OpenConnector(connector, Pool{MaxIdle: -1})
	if err := errors.Join(s.metrics.Pool("ingester", s.db), s.metrics.Pool("ingester_reads", s.reads)); err != nil {
		return errors.Join(err, s.closePools())
	}
	return nil
}

func (s *Storage) closePools() error {
	return errors.Join(s.db.Close(), s.reads.Close(), s.probe.Close())
}

// read calls f with a connection of the queries. With StatementTimeout, f keeps the connection also if ctx ends: the server
// would continue the statement without it, and more than [readConns] statements would run. Errors: storage.ErrTooSlow.
func (s *Storage) read(ctx context.Context, f func(context.Context, *sql.Conn) error) (err error) {
	conn, err := s.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if s.options.StatementTimeout > 0 {
		ctx = context.WithoutCancel(ctx)
	}
	if err = f(ctx, conn); database.TimedOut(err) {
		return fmt.Errorf("%w: %w", storage.ErrTooSlow, err)
	}
	return err
}

// readOne reads one value of one row.
func (s *Storage) readOne(ctx context.Context, statement query.Statement, dest any) error {
	return s.read(ctx, func(ctx context.Context, conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, statement.SQL, statement.Args...).Scan(dest)
	})
}

// each runs a statement whose last columns are sort values and passes them to row; the other
// columns are scanned into dest.
func (s *Storage) each(ctx context.Context, statement query.Statement, sorted int, dest []any, row func(sorted []any) error) error {
	return s.read(ctx, func(ctx context.Context, conn *sql.Conn) error {
		return eachOf(ctx, conn, statement, sorted, dest, row)
	})
}

// errPageFull ends [Storage.each].
var errPageFull = errors.New("page is full")

// eachOf implements each. After errPageFull it drops the connection: the driver would read the remaining rows.
func eachOf(
	ctx context.Context, conn *sql.Conn, statement query.Statement, sorted int, dest []any, row func(sorted []any) error,
) (err error) {
	rows, err := conn.QueryContext(ctx, statement.SQL, statement.Args...)
	if err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, errPageFull) {
			err = errors.Join(err, conn.Raw(func(c any) error { return c.(driver.Conn).Close() }))
		}
		err = errors.Join(err, rows.Close())
	}()
	for rows.Next() {
		values := make([]any, sorted)
		all := append([]any{}, dest...)
		for i := range values {
			all = append(all, &values[i])
		}
		if err := rows.Scan(all...); err != nil {
			return err
		}
		if err := row(values); err != nil {
			return err
		}
	}
	return rows.Err()
}
