package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Server errors of a value that is longer than max_allowed_packet.
const (
	errUnknown       = 1105 // also that of an outage of a storage server
	errResultTooLong = 1301 // the binary form of a JSON document (MySQL)
)

// TooLong reports whether the server rejected a value because max_allowed_packet is smaller.
func TooLong(err error) bool {
	server, ok := errors.AsType[*mysql.MySQLError](err)
	return ok && (server.Number == errResultTooLong ||
		server.Number == errUnknown && strings.Contains(server.Message, "mysql_send_long_data"))
}

// MaxPacket returns max_allowed_packet of the server, in bytes. A connection keeps the value at its start.
func MaxPacket(ctx context.Context, db *sql.DB) (n int64, err error) {
	if err := db.QueryRowContext(ctx, "SELECT @@GLOBAL.max_allowed_packet").Scan(&n); err != nil {
		return 0, fmt.Errorf("read max_allowed_packet: %w", err)
	}
	return n, nil
}

// Release returns the connection of a transaction that ended with err to its pool. After [TooLong] it closes the connection:
// the prepared statement would fail until COM_STMT_RESET, which the driver never sends. If the server permits longer values
// since the start of the connection, the error becomes that of a lost one, so that the transaction is repeated on another.
func Release(ctx context.Context, conn *sql.Conn, err error) error {
	if TooLong(err) {
		err = discard(ctx, conn, err)
	}
	if closeErr := conn.Close(); !errors.Is(closeErr, sql.ErrConnDone) {
		err = errors.Join(err, closeErr)
	}
	return err
}

func discard(ctx context.Context, conn *sql.Conn, err error) error {
	var outdated bool
	readErr := conn.QueryRowContext(ctx, "SELECT @@SESSION.max_allowed_packet < @@GLOBAL.max_allowed_packet").Scan(&outdated)
	if closeErr := conn.Raw(func(any) error { return driver.ErrBadConn }); !errors.Is(closeErr, driver.ErrBadConn) {
		readErr = errors.Join(readErr, closeErr)
	}
	if outdated {
		err = fmt.Errorf("%w: it is older than max_allowed_packet of the server (%s)", driver.ErrBadConn, err.Error())
	}
	return errors.Join(err, readErr)
}
