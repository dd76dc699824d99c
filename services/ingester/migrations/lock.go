package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// sessionLock is a named lock that belongs to the connection: when its holder crashes,
// the server frees it at once. The name contains the database's, since such locks are server-wide.
//
// The connection is that of all migrations, so the lock also bounds how long their statements wait
// for the lock of a table: meanwhile all later statements on that table wait behind them.
type sessionLock struct{ tableWaitSeconds int }

// tableWaitSeconds is below the read timeout of the connection, so that the wait fails with an error of
// the server. After a timeout of the connection, the server would continue to wait and to hold the named lock.
const tableWaitSeconds = 20

// lockWaitSeconds is the timeout of one attempt. It is below the read timeout of the
// connection; attempts continue until the context ends.
const lockWaitSeconds = 5

// SessionLock implements goose's lock.SessionLocker.
func (l *sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	name, err := lockName(ctx, conn)
	if err != nil {
		return err
	}
	// A lower value of the DSN or of the server stays.
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET @former_lock_wait_timeout = @@SESSION.lock_wait_timeout,"+
		" SESSION lock_wait_timeout = LEAST(@@SESSION.lock_wait_timeout, CAST(%d AS UNSIGNED))", l.tableWaitSeconds)); err != nil {
		return fmt.Errorf("set lock_wait_timeout: %w", err)
	}
	for {
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", name, lockWaitSeconds).Scan(&got); err != nil {
			return fmt.Errorf("acquire lock %q: %w", name, err)
		}
		if got.Int64 == 1 {
			return nil
		}
	}
}

// SessionUnlock implements goose's lock.SessionLocker.
func (*sessionLock) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	name, err := lockName(ctx, conn)
	if err != nil {
		return err
	}
	if _, err := conn.ExecContext(ctx, "DO RELEASE_LOCK(?)", name); err != nil {
		return fmt.Errorf("release lock %q: %w", name, err)
	}
	// The connection returns to the pool.
	if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout = @former_lock_wait_timeout"); err != nil {
		return fmt.Errorf("restore lock_wait_timeout: %w", err)
	}
	return nil
}

// lockName returns a name that fits into the 64 characters of a lock's name.
func lockName(ctx context.Context, conn *sql.Conn) (string, error) {
	var database string
	if err := conn.QueryRowContext(ctx, "SELECT DATABASE()").Scan(&database); err != nil {
		return "", fmt.Errorf("read database name: %w", err)
	}
	sum := sha256.Sum256([]byte(database))
	return "flotilla_ingester_migrate_" + hex.EncodeToString(sum[:12]), nil
}
