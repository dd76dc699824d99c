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

// objectName identifies the objects of a kind of which at most one is live.
type objectName struct{ namespace, name string }

// supersede keeps one live row for each namespace and name: the newest. It returns the other
// rows that it closed. Only rows that have just become live can have an older row of the same
// name, so the usual case needs no query.
func (b *batch) supersede(ctx context.Context) ([]liveRow, error) {
	becameLive := map[objectName][]*change{}
	var names []objectName
	for _, c := range b.changes {
		if c.deleteAt.Valid || (c.exists && c.outcome != decision.Restored && c.outcome != decision.Evicted) {
			continue
		}
		name := objectName{c.Namespace, c.Name}
		becameLive[name] = append(becameLive[name], c)
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil, nil
	}
	older := map[string]liveRow{}
	err := b.lockSameNames(ctx, statement.Pad(b.statements, names), becameLive, func(o liveRow) {
		for _, c := range becameLive[objectName{o.namespace, o.name}] {
			switch {
			case c.UID == o.uid:
			case c.Compare(o.Version) >= 0:
				older[o.uid] = o
			default:
				c.outcome = decision.Superseded
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return b.closeSuperseded(ctx, older)
}

// lockSameNames reads and locks the live rows of names, except the rows of the batch that are alone with
// their name: reading these again takes most of the time.
func (b *batch) lockSameNames(ctx context.Context, names []objectName, becameLive map[objectName][]*change, found func(liveRow)) error {
	args := make([]any, 0, 3*len(names))
	var uids []any
	for _, name := range names {
		uid := ""
		if changes := becameLive[name]; len(changes) == 1 {
			uid = changes[0].UID
		}
		args, uids = append(args, name.namespace, name.name), append(uids, uid)
	}
	// CONCAT hides the uids from MySQL, which would search the index for each name with each uid.
	query := func() string {
		return "SELECT uid, namespace, name, incarnation, res_version," +
			" COALESCE(JSON_UNQUOTE(JSON_EXTRACT(json, '$.metadata.generation')), '0')" +
			" FROM " + schema.Quote(b.kind.Table) + " FORCE INDEX (idx_namespace_name)" +
			" WHERE (namespace, name) IN (" + statement.Tuples(len(names), 2) + ")" +
			" AND CONCAT(uid) NOT IN " + statement.Placeholders(len(names)) + " AND delete_time IS NULL FOR UPDATE"
	}
	return b.query(ctx, statement.Name{Table: b.kind.Table, Action: "rivals", Rows: len(names)}, query, append(args, uids...), func(rows *sql.Rows) error {
		var o liveRow
		if err := rows.Scan(&o.uid, &o.namespace, &o.name, &o.Incarnation, &o.ResVersion, &o.generation); err != nil {
			return err
		}
		found(o)
		return nil
	})
}

// closeSuperseded sets the delete time of older rows and of the rows of the batch that are superseded.
func (b *batch) closeSuperseded(ctx context.Context, older map[string]liveRow) ([]liveRow, error) {
	uids := map[string]bool{}
	for _, c := range b.changes {
		if _, superseded := older[c.UID]; superseded {
			c.outcome = decision.Superseded // written and closed by the same batch: one event, which carries the final outcome
		}
		if c.outcome == decision.Superseded {
			uids[c.UID] = true
			delete(older, c.UID) // it is in the batch itself
			if c.reopens {
				c.outcome = decision.Amended // its deletion has an event
			}
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
