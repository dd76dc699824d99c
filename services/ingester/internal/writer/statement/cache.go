package statement

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
)

// Cache caches prepared statements, so that the server parses the text of a large one only
// once. Batches have any size, so work is split, or padded, to the few sizes that are cached.
//
// A nil *Cache caches nothing.
type Cache struct {
	db *sql.DB

	mu       sync.Mutex
	prepared map[Name]*sql.Stmt
}

// Name identifies a statement by operation, table and number of rows.
type Name struct {
	Table, Action string
	Rows          int
}

// Sizes that are cached, in rows. Larger inserts would take a megabyte of the server's memory each.
// Parts of any number of rows have these sizes, since an unprepared statement costs three round
// trips, and the server parses it.
var (
	splitSizes = []int{50, 20, 10, 5, 2, 1}
	padSizes   = []int{1, 10, 50, 100}
)

// NewCache returns an empty cache of the statements of db.
func NewCache(db *sql.DB) *Cache {
	return &Cache{db: db, prepared: map[Name]*sql.Stmt{}}
}

// Split yields the parts of n rows, one per statement, each with a cached size.
func (c *Cache) Split(n int) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		start := 0
		if c != nil {
			for _, size := range splitSizes {
				for ; n-start >= size; start += size {
					if !yield(start, start+size) {
						return
					}
				}
			}
		}
		if start < n {
			yield(start, n)
		}
	}
}

// Pad repeats the last of the values for IN until their number is a size that is cached.
func Pad[T any](c *Cache, values []T) []T {
	if c == nil || len(values) == 0 {
		return values
	}
	for _, size := range padSizes {
		if len(values) <= size {
			for len(values) < size {
				values = append(values, values[len(values)-1])
			}
			return values
		}
	}
	return values
}

// prepare returns the prepared statement, or nil if its size is not cached.
func (c *Cache) prepare(ctx context.Context, name Name, text func() string) (*sql.Stmt, error) {
	if c == nil || !slices.Contains(splitSizes, name.Rows) && !slices.Contains(padSizes, name.Rows) {
		return nil, nil // not cached
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.prepared[name]; known != nil {
		return known, nil
	}
	prepared, err := c.db.PrepareContext(ctx, text()) //nolint:sqlclosecheck // cached; Close closes it
	if err != nil {
		return nil, err
	}
	c.prepared[name] = prepared
	return prepared, nil
}

// Close closes the prepared statements.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for name, prepared := range c.prepared {
		errs = append(errs, prepared.Close())
		delete(c.prepared, name)
	}
	return errors.Join(errs...)
}

// Exec runs a statement in a transaction.
func (c *Cache) Exec(ctx context.Context, tx *sql.Tx, name Name, text func() string, args []any) (sql.Result, error) {
	prepared, err := c.prepare(ctx, name, text)
	if err != nil {
		return nil, err
	}
	if prepared == nil {
		return tx.ExecContext(ctx, text(), args...)
	}
	return tx.StmtContext(ctx, prepared).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
}

// Query runs a query in a transaction and scans its rows.
func (c *Cache) Query(
	ctx context.Context, tx *sql.Tx, name Name, text func() string, args []any, scan func(*sql.Rows) error,
) error {
	prepared, err := c.prepare(ctx, name, text)
	if err != nil {
		return err
	}
	if prepared == nil {
		return database.EachRow(ctx, tx, text(), args, scan)
	}
	bound := preparedQuery{tx.StmtContext(ctx, prepared)} // ends with the transaction
	return database.EachRow(ctx, bound, "", args, scan)
}

// preparedQuery is a [database.Queryer] that runs a prepared statement, whatever the text.
type preparedQuery struct{ stmt *sql.Stmt }

func (p preparedQuery) QueryContext(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
	return p.stmt.QueryContext(ctx, args...)
}
