package batch

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sort"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// chunk is the number of rows that one statement deletes; a statement has at most 65,535 placeholders.
const chunk = 1000

// pair is a label or annotation of an object.
type pair struct {
	uid, key, value string
}

// existingPair is a stored label or annotation.
type existingPair struct {
	id    int64
	value string
}

// syncAllPairs updates labels and annotations of the changed objects.
func (b *batch) syncAllPairs(ctx context.Context) error {
	if err := b.syncPairs(ctx, b.kind.LabelsTable(), func(r *record.Record) map[string]string { return r.Labels }); err != nil {
		return fmt.Errorf("write labels: %w", err)
	}
	if err := b.syncPairs(ctx, b.kind.AnnotationsTable(), func(r *record.Record) map[string]string { return r.Annotations }); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	return nil
}

// syncPairs updates the label or annotation rows of the changed objects by difference: it reads
// the existing ones, deletes those that are no longer set and writes new or changed ones.
func (b *batch) syncPairs(ctx context.Context, table string, of func(*record.Record) map[string]string) error {
	existing, err := b.existingPairs(ctx, table)
	if err != nil {
		return err
	}
	var put []pair
	var removed []int64
	for _, c := range b.changes {
		rows := existing[c.UID]
		want := of(c.Record)
		for key, value := range want {
			if row, ok := rows[key]; !ok || row.value != value {
				put = append(put, pair{c.UID, key, value})
			}
		}
		for key, row := range rows {
			if _, ok := want[key]; !ok {
				removed = append(removed, row.id)
			}
		}
	}
	if err := b.deletePairs(ctx, table, removed); err != nil {
		return err
	}
	return b.insertPairs(ctx, table, put)
}

// existingPairs reads the rows of the objects that MySQL has already. New objects have none.
func (b *batch) existingPairs(ctx context.Context, table string) (map[string]map[string]existingPair, error) {
	args := make([]any, 0, len(b.changes))
	for _, c := range b.changes {
		if c.exists {
			args = append(args, c.UID)
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	args = statement.Pad(b.statements, args)
	out := map[string]map[string]existingPair{}
	query := func() string {
		return "SELECT id, obj_uid, `key`, value FROM " + schema.Quote(table) + " WHERE obj_uid IN " + statement.Placeholders(len(args))
	}
	err := b.query(ctx, statement.Name{Table: table, Action: "existing", Rows: len(args)}, query, args, func(rows *sql.Rows) error {
		var p pair
		var h existingPair
		if err := rows.Scan(&h.id, &p.uid, &p.key, &h.value); err != nil {
			return err
		}
		if out[p.uid] == nil {
			out[p.uid] = map[string]existingPair{}
		}
		out[p.uid][p.key] = h
		return nil
	})
	return out, err
}

func (b *batch) deletePairs(ctx context.Context, table string, ids []int64) error {
	slices.Sort(ids)
	for start := 0; start < len(ids); start += chunk {
		part := ids[start:min(start+chunk, len(ids))]
		args := make([]any, 0, len(part))
		for _, id := range part {
			args = append(args, id)
		}
		query := "DELETE FROM " + schema.Quote(table) + " WHERE id IN " + statement.Placeholders(len(part)) //nolint:gosec // names of the schema; values are arguments
		if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) insertPairs(ctx context.Context, table string, pairs []pair) error {
	sort.Slice(pairs, func(i, j int) bool {
		if pairs[i].uid != pairs[j].uid {
			return pairs[i].uid < pairs[j].uid
		}
		return pairs[i].key < pairs[j].key
	})
	for from, to := range b.statements.Split(len(pairs)) {
		part := pairs[from:to]
		args := make([]any, 0, len(part)*3)
		for _, p := range part {
			args = append(args, p.uid, p.key, p.value)
		}
		query := func() string {
			return "INSERT INTO " + schema.Quote(table) + " (obj_uid, `key`, value) VALUES " + statement.Tuples(len(part), 3) +
				" ON DUPLICATE KEY UPDATE value = VALUES(value)"
		}
		if err := b.exec(ctx, statement.Name{Table: table, Action: "put", Rows: len(part)}, query, args); err != nil {
			return err
		}
	}
	return nil
}
