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
type sessionLock struct{}

// lockWaitSeconds is the timeout of one attempt. It is below the read timeout of the
// connection; attempts continue until the context ends.
const lockWaitSeconds = 5

// SessionLock implements goose's lock.SessionLocker.
func (*sessionLock) SessionLock(ctx context.Context, conn *sql.Conn) error {
	name, err := lockName(ctx, conn)
	if err != nil {
		return err
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
