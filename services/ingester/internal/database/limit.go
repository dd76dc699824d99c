package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Limited returns a connector whose connections stop a SELECT that takes longer than the limit. The server stops it: the
// server continues a statement whose client has disconnected.
func Limited(connector driver.Connector, limit time.Duration) driver.Connector {
	return &limited{Connector: connector, limit: limit}
}

type limited struct {
	driver.Connector
	limit time.Duration
}

// limitStatement sets the variable of MySQL, in milliseconds, or that of MariaDB, in seconds. Each server ignores the comment of
// the other; MariaDB ignores those of the versions 5.7 to 9 of MySQL.
const limitStatement = "SET SESSION /*!80000 max_execution_time = %d *//*M! max_statement_time = %g */"

// Connect implements driver.Connector.
func (l *limited) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(fmt.Errorf("connection of type %T executes no statements", conn), conn.Close())
	}
	statement := fmt.Sprintf(limitStatement, max(l.limit.Milliseconds(), 1), l.limit.Seconds())
	if _, err := execer.ExecContext(ctx, statement, nil); err != nil {
		return nil, errors.Join(fmt.Errorf("limit the duration of statements: %w", err), conn.Close())
	}
	return conn, nil
}

// Server errors of a statement that exceeded the limit.
const (
	errLimitMySQL   = 3024
	errLimitMariaDB = 1969
)

// TimedOut reports whether the server stopped a statement that took longer than the limit of its connection.
func TimedOut(err error) bool {
	server, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (server.Number == errLimitMySQL || server.Number == errLimitMariaDB)
}
