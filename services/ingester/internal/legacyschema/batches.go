package legacyschema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// defaultBatch is the maximum number of objects that one transaction repairs. Each of its
// statements takes far less than the read timeout of a connection.
const defaultBatch = 5000

// span is the part of a table that one transaction repairs: the rows whose key is greater
// than after and at most last. A span never separates keys that are equal in the table's
// own collation.
type span struct{ column, after, last string }

// where returns the condition and its arguments.
func (s span) where(alias string) (string, []any) {
	c := alias + schema.Quote(s.column)
	if s.after == "" { // the empty text is a key as well
		return c + " <= ?", []any{s.last}
	}
	return c + " > ? AND " + c + " <= ?", []any{s.after, s.last}
}

// statement is SQL with its arguments.
type statement struct {
	text string
	args []any
}

// commit runs statements in a transaction.
func commit(ctx context.Context, tx *sql.Tx, statements ...statement) error {
	all := append(append([]statement{{text: "START TRANSACTION"}}, statements...), statement{text: "COMMIT"})
	for _, s := range all {
		if _, err := tx.ExecContext(ctx, s.text, s.args...); err != nil {
			return fmt.Errorf("%s: %w", firstLine(s.text), err)
		}
	}
	return nil
}

// walk calls repair for each span of a table, in the order of the column, which an index
// of that name begins with.
func (r *run) walk(ctx context.Context, table, column, index string, repair func(span) error) error {
	from := " FROM " + schema.Quote(table) + " FORCE INDEX (" + schema.Quote(index) + ")"
	c := schema.Quote(column)
	s := span{column: column}
	if err := repair(s); err != nil { // of the empty key
		return err
	}
	for {
		err := r.tx.QueryRowContext(ctx, "SELECT "+c+from+" WHERE "+c+" > ? ORDER BY "+c+" LIMIT 1 OFFSET ?", s.after, r.batch-1).Scan(&s.last)
		if errors.Is(err, sql.ErrNoRows) {
			err = r.tx.QueryRowContext(ctx, "SELECT COALESCE(MAX("+c+"), ?)"+from, s.after).Scan(&s.last)
		}
		if err != nil {
			return fmt.Errorf("read keys of %s: %w", table, err)
		}
		if s.last == s.after {
			return nil
		}
		if err := repair(s); err != nil {
			return err
		}
		r.progress.add(r.batch)
		s.after = s.last
	}
}

// namesPerQuery bounds the names in one statement.
const namesPerQuery = 200

// name is a namespace and a name.
type name struct{ namespace, name string }

// duplicateNames collects the names that several live rows may have. It keeps a hash of each name, so
// it may include a name that only one row has.
type duplicateNames struct {
	seen       map[uint64]bool // true: found already
	duplicates []name
}

func (n *duplicateNames) add(hash uint64, candidate name) {
	found, known := n.seen[hash]
	if known && !found {
		n.duplicates = append(n.duplicates, candidate)
	}
	n.seen[hash] = known
}

// live calls f with the names of the live rows of a span.
func (r *run) live(ctx context.Context, table string, s span, f func(name)) error {
	where, args := s.where("")
	query := "SELECT namespace, name FROM " + schema.Quote(table) + " WHERE " + where + " AND delete_time IS NULL"
	err := database.EachRow(ctx, r.tx, query, args, func(rows *sql.Rows) error {
		var n name
		if err := rows.Scan(&n.namespace, &n.name); err != nil {
			return err
		}
		f(n)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read names of %s: %w", table, err)
	}
	return nil
}

// chunks yields the names as conditions.
func (n *duplicateNames) chunks(f func(where string, args []any) error) error {
	for part := range slices.Chunk(n.duplicates, namesPerQuery) {
		args := make([]any, 0, 2*len(part))
		for _, candidate := range part {
			args = append(args, candidate.namespace, candidate.name)
		}
		where := "(namespace, name) IN (" + strings.TrimSuffix(strings.Repeat("(?, ?), ", len(part)), ", ") + ")"
		if err := f(where, args); err != nil {
			return err
		}
	}
	return nil
}
