package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

const probeTimeout = 5 * time.Second

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
		return fmt.Errorf("write to MySQL: %w", err)
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
