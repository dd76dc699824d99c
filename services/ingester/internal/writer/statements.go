package writer

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"
	"sync"
)

// statements keeps prepared statements, so that the server reads the text of a big one
// once and not each time. Batches have any size, so work is cut, or filled up, to the few
// sizes that are kept.
//
// A nil *statements keeps nothing.
type statements struct {
	db *sql.DB

	mu   sync.Mutex
	kept map[statement]*sql.Stmt
}

// statement names a statement: what it does to a table, and for how many rows.
type statement struct {
	table, what string
	rows        int
}

// Sizes that are kept, in rows. Greater inserts would take the server a megabyte each.
var (
	cuts  = []int{50, 10}
	fills = []int{1, 10, 50, 100}
)

func newStatements(db *sql.DB) *statements {
	return &statements{db: db, kept: map[statement]*sql.Stmt{}}
}

// cut yields the parts of n rows, each for a statement of its own. All but the last have
// a size that is kept.
func (s *statements) cut(n int) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		start := 0
		if s != nil {
			for _, size := range cuts {
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

// fill repeats the last of the values for IN until their number is one that is kept.
func (s *statements) fill(values []any) []any {
	if s == nil || len(values) == 0 {
		return values
	}
	for _, size := range fills {
		if len(values) <= size {
			for len(values) < size {
				values = append(values, values[len(values)-1])
			}
			return values
		}
	}
	return values
}

// keep returns the prepared statement, or nil when its size is not one that is kept.
func (s *statements) keep(ctx context.Context, name statement, text func() string) (*sql.Stmt, error) {
	if s == nil || !slices.Contains(fills, name.rows) {
		return nil, nil //nolint:nilnil // not kept
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.kept[name]; kept != nil {
		return kept, nil
	}
	prepared, err := s.db.PrepareContext(ctx, text()) //nolint:sqlclosecheck // kept; close closes it
	if err != nil {
		return nil, err
	}
	s.kept[name] = prepared
	return prepared, nil
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for name, kept := range s.kept {
		errs = append(errs, kept.Close())
		delete(s.kept, name)
	}
	return errors.Join(errs...)
}

// measured starts the measurement of a statement; the returned function ends it.
func (b *batch) measured(what string) func() {
	if b.measure == nil {
		return func() {}
	}
	return b.measure(what)
}

// exec runs a statement in the transaction.
func (b *batch) exec(ctx context.Context, name statement, text func() string, args []any) (sql.Result, error) {
	defer b.measured(name.what)()
	kept, err := b.statements.keep(ctx, name, text)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return b.tx.ExecContext(ctx, text(), args...)
	}
	return b.tx.StmtContext(ctx, kept).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
}

// query runs a query in the transaction and scans its rows.
func (b *batch) query(ctx context.Context, name statement, text func() string, args []any, scan func(*sql.Rows) error) (err error) {
	defer b.measured(name.what)()
	kept, err := b.statements.keep(ctx, name, text)
	if err != nil {
		return err
	}
	if kept == nil {
		return each(ctx, b.tx, text(), args, scan)
	}
	rows, err := b.tx.StmtContext(ctx, kept).QueryContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}
