package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"
)

const probeTimeout = 5 * time.Second

// ErrReadOnly means that the server is read-only for the login.
var ErrReadOnly = errors.New("server is read-only (read_only or super_read_only is set)")

// Probe checks with a separate connection whether the server accepts writes: that the login
// succeeds, the tables exist, and the server is not read-only. The pool must keep no idle
// connections. write is a statement that changes nothing.
func Probe(ctx context.Context, db *sql.DB, write string, tables []string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to MySQL: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, write); err != nil {
		return fmt.Errorf("write to MySQL: %w", ReadOnly(ctx, db, err))
	}
	parts := make([]string, 0, len(tables))
	for _, table := range tables {
		parts = append(parts, "(SELECT 1 FROM `"+table+"` LIMIT 0)")
	}
	if _, err := conn.ExecContext(ctx, strings.Join(parts, " UNION ALL ")); err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	return nil
}

// ReadOnly returns ErrReadOnly instead of an error of a write whose connection the driver discarded because the
// server is read-only: the driver hides the server's message.
func ReadOnly(ctx context.Context, db *sql.DB, err error) error {
	if !errors.Is(err, driver.ErrBadConn) {
		return err
	}
	var set bool
	if failed := db.QueryRowContext(ctx, "SELECT @@GLOBAL.read_only").Scan(&set); failed != nil || !set {
		return errors.Join(err, failed)
	}
	return ErrReadOnly
}
