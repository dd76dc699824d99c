package writer

import (
	"context"
	"database/sql"
	"sort"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
)

// chunk bounds the rows that one statement removes; a statement has at most 65,535 placeholders.
const chunk = 1000

type pair struct {
	uid, key, value string
}

type have struct {
	id    int64
	value string
}

// pairs brings the label or annotation rows of the changed objects up to date: it
// reads what is there, removes what is gone and writes what is new or different.
func (b *batch) pairs(ctx context.Context, table string, of func(*record.Record) map[string]string) error {
	existing, err := b.existing(ctx, table)
	if err != nil {
		return err
	}
	var put []pair
	var gone []int64
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
				gone = append(gone, row.id)
			}
		}
	}
	if err := b.remove(ctx, table, gone); err != nil {
		return err
	}
	return b.put(ctx, table, put)
}

// existing reads the rows of the objects that MySQL had before. New objects have none.
func (b *batch) existing(ctx context.Context, table string) (map[string]map[string]have, error) {
	args := make([]any, 0, len(b.changes))
	for _, c := range b.changes {
		if c.exists {
			args = append(args, c.UID)
		}
	}
	if len(args) == 0 {
		return nil, nil
	}
	args = b.statements.fill(args)
	out := map[string]map[string]have{}
	query := func() string {
		return "SELECT id, obj_uid, `key`, value FROM " + schema.Quote(table) + " WHERE obj_uid IN " + placeholders(len(args))
	}
	err := b.query(ctx, statement{table, "existing", len(args)}, query, args, func(rows *sql.Rows) error {
		var p pair
		var h have
		if err := rows.Scan(&h.id, &p.uid, &p.key, &h.value); err != nil {
			return err
		}
		if out[p.uid] == nil {
			out[p.uid] = map[string]have{}
		}
		out[p.uid][p.key] = h
		return nil
	})
	return out, err
}

func (b *batch) remove(ctx context.Context, table string, ids []int64) error {
	sort.Slice(ids, func(i, j int) bool { return ids[i] < ids[j] })
	for start := 0; start < len(ids); start += chunk {
		part := ids[start:min(start+chunk, len(ids))]
		args := make([]any, 0, len(part))
		for _, id := range part {
			args = append(args, id)
		}
		query := "DELETE FROM " + schema.Quote(table) + " WHERE id IN " + placeholders(len(part))
		if _, err := b.tx.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) put(ctx context.Context, table string, pairs []pair) error {
	sort.Slice(pairs, func(i, j int) bool {
		if pairs[i].uid != pairs[j].uid {
			return pairs[i].uid < pairs[j].uid
		}
		return pairs[i].key < pairs[j].key
	})
	for from, to := range b.statements.cut(len(pairs)) {
		part := pairs[from:to]
		args := make([]any, 0, len(part)*3)
		for _, p := range part {
			args = append(args, p.uid, p.key, p.value)
		}
		query := func() string {
			return "INSERT INTO " + schema.Quote(table) + " (obj_uid, `key`, value) VALUES " + tuples(len(part), 3) +
				" ON DUPLICATE KEY UPDATE value = VALUES(value)"
		}
		if _, err := b.exec(ctx, statement{table, "put", len(part)}, query, args); err != nil {
			return err
		}
	}
	return nil
}
