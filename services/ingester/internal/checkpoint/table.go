package checkpoint

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// ErrBehind means that the database lacks completed evictions.
var ErrBehind = errors.New("database was restored from an older backup")

// compare returns ErrBehind, with the remedy, for a database below the cluster. It is pure.
func compare(database, cluster int64) error {
	if database >= cluster {
		return nil
	}
	return fmt.Errorf("%w: its checkpoint is %d, that of the cluster is %d: evictions and sweeps are stopped; "+
		"restore a newer backup, or run ingester checkpoint --accept (docs/disaster.md)", ErrBehind, database, cluster)
}

// Stored returns the number in the database, or 0 with an empty table: nothing was evicted.
//
// The read is in a transaction, since a proxy that splits reads and writes, such as ProxySQL or MaxScale, routes any other to a
// replica, which may lag behind the last eviction. It does not lock the row: it would wait for increments, and an account
// with SELECT alone could not run it.
func Stored(ctx context.Context, db *sql.DB) (number int64, err error) {
	err = transact(ctx, db, func(tx *sql.Tx) error {
		number, err = stored(ctx, tx, "")
		return err
	})
	return number, err
}

func stored(ctx context.Context, tx *sql.Tx, lock string) (number int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(number), 0) FROM "+schema.Quote(schema.CheckpointTable)+lock).Scan(&number)
	if err != nil {
		return 0, fmt.Errorf("read checkpoint: %w", err)
	}
	return number, nil
}

// advance increments the number in the database, unless it is below the given one.
func advance(ctx context.Context, db *sql.DB, minimum int64) (number int64, err error) {
	err = change(ctx, db, func(previous int64) (int64, error) { return previous + 1, compare(previous, minimum) }, &number)
	return number, err
}

// Accept raises the number in the database to that of the cluster: the evictions that
// the database lacks are abandoned.
func Accept(ctx context.Context, db *sql.DB, cluster int64) error {
	var result int64
	return change(ctx, db, func(previous int64) (int64, error) { return max(previous, cluster), nil }, &result)
}

func change(ctx context.Context, db *sql.DB, next func(old int64) (int64, error), result *int64) error {
	var number int64
	err := transact(ctx, db, func(tx *sql.Tx) error {
		previous, err := stored(ctx, tx, " FOR UPDATE")
		if err != nil {
			return err
		}
		if number, err = next(previous); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, "INSERT INTO "+schema.Quote(schema.CheckpointTable)+ //nolint:gosec // names of the schema; values are arguments
			" (id, number) VALUES (1, ?) ON DUPLICATE KEY UPDATE number = VALUES(number)", number); err != nil {
			return fmt.Errorf("write checkpoint: %w", err)
		}
		return nil
	})
	if err == nil {
		*result = number
	}
	return err
}

// transact runs fn in a transaction.
func transact(ctx context.Context, db *sql.DB, fn func(*sql.Tx) error) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer func() {
		if err != nil {
			if rollback := tx.Rollback(); !errors.Is(rollback, sql.ErrTxDone) {
				err = errors.Join(err, rollback)
			}
		}
	}()
	if err = fn(tx); err != nil {
		return err
	}
	if err = tx.Commit(); err != nil {
		return fmt.Errorf("commit checkpoint: %w", err)
	}
	return nil
}
