package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	tables "github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// name is the namespace and name of rows.
type name struct {
	Namespace string `db:"namespace"`
	Name      string `db:"name"`
}

// duplicates finds names with more than one live row. It reports all except the newest. It walks the index of names, so
// that one statement reads no more rows than a page has, and those of its last name.
func (c *comparison) duplicates(ctx context.Context) error {
	for after, last := (name{}), false; !last; {
		var until name
		var err error
		if until, last, err = c.pageEnd(ctx, after); err != nil {
			return fmt.Errorf("read names: %w", err)
		}
		names, err := c.ambiguousNames(ctx, after, until, last)
		if err != nil {
			return fmt.Errorf("read duplicates: %w", err)
		}
		for _, n := range names {
			older, newest, err := c.liveRowsOf(ctx, n.Namespace, n.Name)
			if err != nil {
				return err
			}
			for _, r := range older {
				c.candidates = append(c.candidates, c.duplicate(r, newest))
			}
		}
		after = until
	}
	return nil
}

// pageEnd returns the last name of the page after a name, or last if fewer rows are left.
func (c *comparison) pageEnd(ctx context.Context, after name) (until name, last bool, err error) {
	where, args := c.namesAfter(after)
	query, args, err := sqlx.In("SELECT namespace, name FROM "+where+" ORDER BY namespace, name LIMIT 1 OFFSET ?",
		append(args, pageSize-1)...)
	if err != nil {
		return name{}, false, err
	}
	err = sqlx.NewDb(c.env.DB, "mysql").GetContext(ctx, &until, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return name{}, true, nil
	}
	return until, false, err
}

// ambiguousNames returns the names with more than one live row after a name, up to another one unless the page is the last.
func (c *comparison) ambiguousNames(ctx context.Context, after, until name, last bool) (names []name, err error) {
	where, args := c.namesAfter(after)
	where += " AND delete_time IS NULL"
	if !last {
		where += " AND (namespace < ? OR (namespace = ? AND name <= ?))"
		args = append(args, until.Namespace, until.Namespace, until.Name)
	}
	query, args, err := sqlx.In("SELECT namespace, name FROM "+where+
		" GROUP BY namespace, name HAVING COUNT(*) > 1 ORDER BY namespace, name", args...)
	if err != nil {
		return nil, err
	}
	err = sqlx.NewDb(c.env.DB, "mysql").SelectContext(ctx, &names, query, args...)
	return names, err
}

// namesAfter returns a FROM clause that selects the rows of the names after a name.
func (c *comparison) namesAfter(after name) (string, []any) {
	where := tables.Quote(c.kind.Table) + " FORCE INDEX (idx_namespace_name) WHERE (namespace > ? OR (namespace = ? AND name > ?))"
	args := []any{after.Namespace, after.Namespace, after.Name}
	if len(c.namespaces) > 0 {
		where, args = where+" AND namespace IN (?)", append(args, c.namespaces)
	}
	return where, args
}

func (c *comparison) duplicate(r, newest *rows.Row) candidate {
	return candidate{Difference: c.difference(nil, r, finding{Duplicate, "same name as " + newest.UID, describeRow(r)})}
}

// liveRowsOf returns the live rows of a name except the newest, and the newest, nil without a row.
func (c *comparison) liveRowsOf(ctx context.Context, namespace, name string) (older []*rows.Row, newest *rows.Row, err error) {
	query := rows.Query{State: rows.Open, Namespaces: []string{namespace}, Names: []string{name}}
	page, err := rows.Page(ctx, c.env.DB, c.kind, query)
	if err != nil || len(page) == 0 {
		return nil, nil, err
	}
	for i := range page {
		r := &page[i]
		switch {
		case newest == nil:
			newest = r
		case r.Incarnation > newest.Incarnation || (r.Incarnation == newest.Incarnation && r.ResVersion > newest.ResVersion):
			older, newest = append(older, newest), r
		default:
			older = append(older, r)
		}
	}
	return older, newest, nil
}
