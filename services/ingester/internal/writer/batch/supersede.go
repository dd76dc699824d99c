package batch

import (
	"context"
	"database/sql"
	"sort"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// liveRow is a live row that a batch closes or evicts with its stored content.
type liveRow struct {
	uid, namespace, name string
	generation           int64
	decision.Version
}

// supersede keeps one live row for each namespace and name: the newest. It returns the other
// rows that it closed. Only rows that have just become live can have an older row of the same
// name, so the usual case needs no query.
func (b *batch) supersede(ctx context.Context) ([]liveRow, error) {
	appeared := map[string]*change{}
	args := make([]any, 0, len(b.changes))
	for _, c := range b.changes {
		if c.deleteAt.Valid || (c.exists && c.outcome != decision.Restored && c.outcome != decision.Evicted) {
			continue
		}
		appeared[c.UID] = c
		args = append(args, c.UID)
	}
	if len(appeared) == 0 {
		return nil, nil
	}
	args = b.statements.Pad(args)
	older := map[string]liveRow{}
	t := schema.Quote(b.kind.Table)
	query := func() string {
		return "SELECT n.uid, o.uid, o.namespace, o.name, o.incarnation, o.res_version," +
			" COALESCE(JSON_UNQUOTE(JSON_EXTRACT(o.json, '$.metadata.generation')), '0')" +
			" FROM " + t + " n FORCE INDEX (PRIMARY) JOIN " + t + " o FORCE INDEX (idx_namespace_name)" +
			" ON o.namespace = n.namespace AND o.name = n.name AND o.uid <> n.uid AND o.delete_time IS NULL" +
			" WHERE n.uid IN " + statement.Placeholders(len(args)) + " ORDER BY n.uid, o.uid FOR UPDATE"
	}
	err := b.query(ctx, statement.Name{Table: b.kind.Table, Action: "rivals", Rows: len(args)}, query, args, func(rows *sql.Rows) error {
		var ours string
		var o liveRow
		if err := rows.Scan(&ours, &o.uid, &o.namespace, &o.name, &o.Incarnation, &o.ResVersion, &o.generation); err != nil {
			return err
		}
		c := appeared[ours]
		if c.Compare(o.Version) >= 0 {
			older[o.uid] = o
		} else {
			c.outcome = decision.Superseded
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.closeSuperseded(ctx, older)
}

// closeSuperseded sets the delete time of older rows and of the rows of the batch that are superseded.
func (b *batch) closeSuperseded(ctx context.Context, older map[string]liveRow) ([]liveRow, error) {
	uids := map[string]bool{}
	for _, c := range b.changes {
		if _, lost := older[c.UID]; lost {
			c.outcome = decision.Superseded // written and closed by the same batch: one event, which carries the final outcome
		}
		if c.outcome == decision.Superseded {
			uids[c.UID] = true
			delete(older, c.UID) // it is in the batch itself
		}
	}
	out := make([]liveRow, 0, len(older))
	for uid, o := range older {
		uids[uid] = true
		out = append(out, o)
	}
	if len(uids) == 0 {
		return nil, nil
	}
	sorted := make([]string, 0, len(uids))
	for uid := range uids {
		sorted = append(sorted, uid)
	}
	sort.Strings(sorted)
	args := []any{b.now, b.now}
	for _, uid := range sorted {
		args = append(args, uid)
	}
	query := "UPDATE " + schema.Quote(b.kind.Table) + " SET delete_time = ?, update_time = ?" + //nolint:gosec // names of the schema; values are arguments
		" WHERE uid IN " + statement.Placeholders(len(sorted)) + " AND delete_time IS NULL"
	if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
		return nil, err
	}
	sort.Slice(out, func(i, j int) bool { return out[i].uid < out[j].uid })
	return out, nil
}
