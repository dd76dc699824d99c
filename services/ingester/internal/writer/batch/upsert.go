package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/retry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// Columns of the main table in the order of an insert; the object's ones never change.
var (
	objectColumns  = []string{"uid", "namespace", "name", "create_time"}
	contentColumns = []string{"group_ver", "update_time", "proto", "json", "evict_time", "delete_time", "res_version", "incarnation"}
)

// upsert writes all changed rows: it updates the locked ones as decided, and inserts the missing
// ones. An insert fails if another writer has added the row meanwhile; then the transaction is
// retried. One statement for both would update that row without a decision.
func (b *batch) upsert(ctx context.Context) error {
	var existing, added []*change
	for _, c := range b.changes {
		if c.exists {
			existing = append(existing, c)
			continue
		}
		added = append(added, c)
	}
	if len(existing) > 0 {
		if err := b.insert(ctx, existing, b.assignments); err != nil {
			return err
		}
	}
	if len(added) == 0 {
		return nil
	}
	err := b.insert(ctx, added, nil)
	var rejected *mysql.MySQLError
	if errors.As(err, &rejected) && rejected.Number == duplicateEntry {
		return fmt.Errorf("%w: %w", retry.ErrRaced, err)
	}
	return err
}

// duplicateEntry is the server's error number for a row whose key exists already.
const duplicateEntry = 1062

// assignments returns the clause that updates an existing row.
func (b *batch) assignments() string {
	names := slices.Concat(contentColumns, indexed(b.kind))
	list := make([]string, 0, len(names))
	for _, name := range names {
		column := schema.Quote(name)
		list = append(list, column+" = VALUES("+column+")")
	}
	return " ON DUPLICATE KEY UPDATE " + strings.Join(list, ", ")
}

// insert inserts rows. end, if not nil, returns the clause for rows that exist.
func (b *batch) insert(ctx context.Context, changes []*change, end func() string) error {
	for from, to := range b.statements.Split(len(changes)) {
		if err := b.insertPart(ctx, changes[from:to], end); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertPart(ctx context.Context, changes []*change, end func() string) error {
	args := make([]any, 0, len(changes)*(len(objectColumns)+len(contentColumns)+len(b.kind.Columns)))
	for _, c := range changes {
		args = append(args, c.UID, c.Namespace, c.Name, c.CreateTime)
		args = append(args, c.GroupVersion, b.now, c.Proto, c.JSON, c.evictAt, c.deleteAt, c.Version.ResVersion, c.Incarnation)
		args = append(args, c.Indexed...)
	}
	name := statement.Name{Table: b.kind.Table, Action: "insert", Rows: len(changes)}
	if end != nil {
		name.Action = "upsert"
	}
	return b.exec(ctx, name, func() string {
		columns := slices.Concat(objectColumns, contentColumns, indexed(b.kind))
		text := "INSERT INTO " + schema.Quote(b.kind.Table) + " (" + quoteAll(columns) + ") VALUES " + statement.Tuples(len(changes), len(columns))
		if end != nil {
			text += end()
		}
		return text
	}, args)
}

func indexed(kind *registry.Kind) []string {
	out := make([]string, 0, len(kind.Columns))
	for _, c := range kind.Columns {
		out = append(out, c.Name)
	}
	return out
}

func quoteAll(names []string) string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, schema.Quote(n))
	}
	return strings.Join(out, ", ")
}
