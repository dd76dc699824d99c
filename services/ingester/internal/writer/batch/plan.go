package batch

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// change is one record that has to be written.
type change struct {
	*record.Record
	decision.Version
	index    int // in the outcomes
	exists   bool
	reopens  bool // the row was closed before
	outcome  decision.Outcome
	deleteAt sql.NullTime
	evictAt  sql.NullTime
}

// plan locks the rows that exist and decides for each record.
func (b *batch) plan(ctx context.Context, records []*record.Record, incarnation int64) ([]decision.Outcome, error) {
	var rows map[string]*decision.Row
	if !b.insertOnly {
		var err error
		if rows, err = b.lockRows(ctx, records); err != nil {
			return nil, err
		}
		if err = b.compareEnded(ctx, records, rows); err != nil {
			return nil, fmt.Errorf("compare ended rows: %w", err)
		}
	}
	outcomes := make([]decision.Outcome, len(records))
	for i, r := range records {
		row := rows[r.UID]
		v := decision.Version{Incarnation: incarnation, ResVersion: r.ResVersion}
		outcomes[i] = decision.Decide(row, r, v)
		if !outcomes[i].Writes() {
			continue
		}
		c := &change{Record: r, Version: v, index: i, exists: row != nil, outcome: outcomes[i]}
		c.reopens = row != nil && row.Closed && (c.outcome == decision.Restored || c.outcome == decision.Evicted)
		at := sql.NullTime{Time: b.now, Valid: true}
		switch {
		case outcomes[i] == decision.Deleted, outcomes[i] == decision.Amended && row.Closed:
			c.deleteAt = at
		case outcomes[i] == decision.Evicted, outcomes[i] == decision.Amended:
			c.evictAt = at
		}
		b.changes = append(b.changes, c)
	}
	return outcomes, nil
}

// lockRows reads and locks the rows that exist. The index is forced: on a small table
// the server might read all rows instead, and then wait for rows of other batches.
func (b *batch) lockRows(ctx context.Context, records []*record.Record) (map[string]*decision.Row, error) {
	args := make([]any, 0, len(records))
	for _, r := range records {
		args = append(args, r.UID)
	}
	args = statement.Pad(b.statements, args)
	query := func() string {
		return "SELECT uid, incarnation, res_version, delete_time IS NOT NULL, evict_time IS NOT NULL FROM " + schema.Quote(b.kind.Table) +
			" FORCE INDEX (PRIMARY) WHERE uid IN " + statement.Placeholders(len(args)) + " ORDER BY uid FOR UPDATE"
	}
	out := make(map[string]*decision.Row, len(records))
	err := b.query(ctx, statement.Name{Table: b.kind.Table, Action: "lock", Rows: len(args)}, query, args, func(rows *sql.Rows) error {
		var uid string
		var s decision.Row
		if err := rows.Scan(&uid, &s.Incarnation, &s.ResVersion, &s.Closed, &s.Evicted); err != nil {
			return err
		}
		out[uid] = &s
		return nil
	})
	return out, err
}

// compareEnded compares the content of ended rows whose object has a newer record. It reads the
// content of these rows only, and they are few: most objects no longer exist by then.
func (b *batch) compareEnded(ctx context.Context, records []*record.Record, rows map[string]*decision.Row) error {
	newer := map[string]*record.Record{}
	var args []any
	for _, r := range records {
		if row := rows[r.UID]; row != nil && row.Ended() && comparesContent(r) && r.ResVersion > row.ResVersion {
			newer[r.UID] = r
			args = append(args, r.UID)
		}
	}
	if len(newer) == 0 {
		return nil
	}
	query := "SELECT uid, json FROM " + schema.Quote(b.kind.Table) + " FORCE INDEX (PRIMARY) WHERE uid IN " + statement.Placeholders(len(args))
	return database.EachRow(ctx, b.tx, query, args, func(r *sql.Rows) error {
		var uid string
		var stored []byte
		if err := r.Scan(&uid, &stored); err != nil {
			return err
		}
		same, err := decision.SameContent(stored, []byte(newer[uid].JSON))
		if err != nil {
			return fmt.Errorf("compare %s with its row: %w", uid, err)
		}
		rows[uid].SameContent = same
		return nil
	})
}

// comparesContent reports whether the decision depends on the content of the row.
func comparesContent(r *record.Record) bool {
	return r.State != record.Live && r.State != record.Confirmed
}
