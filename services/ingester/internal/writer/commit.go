package writer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// batch is the work of one transaction.
type batch struct {
	tx      *sql.Tx
	kind    *registry.Kind
	now     time.Time
	changes []*change
	outbox  bool
	// blind batches assume that all objects are new, without reading rows.
	blind bool
	// statements are those that are kept; nil keeps none.
	statements *statements
	// measure measures a statement that begins; nil measures nothing.
	measure func(what string) func()
}

// change is one record that has to be written.
type change struct {
	*record.Record
	version
	index    int // in the outcomes
	exists   bool
	outcome  Outcome
	deleteAt sql.NullTime
	evictAt  sql.NullTime
}

// commit runs one transaction over records of one kind in the order of their uids. With
// blind set it does not read their rows first: if one exists, it fails with errRaced.
func (w *Writer) commit(ctx context.Context, records []*record.Record, blind bool) (outcomes []Outcome, err error) {
	tx, err := w.cfg.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer func() {
		if err != nil {
			err = withRollback(err, tx.Rollback())
		}
	}()
	b := &batch{tx: tx, kind: records[0].Kind, now: w.cfg.Clock.Now().UTC().Truncate(time.Microsecond), outbox: w.cfg.Outbox, statements: w.statements, blind: blind, measure: w.measure}
	outcomes, err = b.plan(ctx, records, w.cfg.Incarnation)
	if err != nil {
		return nil, fmt.Errorf("look at rows: %w", err)
	}
	if len(b.changes) == 0 {
		return outcomes, tx.Rollback() // nothing to write; releases the row locks
	}
	if err := b.write(ctx); err != nil {
		return nil, err
	}
	end := b.measured("commit")
	err = tx.Commit()
	end()
	if err != nil {
		return nil, fmt.Errorf("commit: %w", err)
	}
	for _, c := range b.changes {
		outcomes[c.index] = c.outcome
	}
	if b.outbox {
		w.cfg.OnCommit()
	}
	return outcomes, nil
}

func (b *batch) write(ctx context.Context) error {
	if err := b.upsert(ctx); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	closed, err := b.supersede(ctx)
	if err != nil {
		return fmt.Errorf("close superseded rows: %w", err)
	}
	if err := b.pairs(ctx, b.kind.LabelsTable(), func(r *record.Record) map[string]string { return r.Labels }); err != nil {
		return fmt.Errorf("write labels: %w", err)
	}
	if err := b.pairs(ctx, b.kind.AnnotationsTable(), func(r *record.Record) map[string]string { return r.Annotations }); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	if !b.outbox {
		return nil
	}
	if err := b.announce(ctx, closed); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

// withRollback joins the error of a rollback, except the one that only means that
// the transaction has ended already.
func withRollback(err, rollback error) error {
	if rollback == nil || errors.Is(rollback, sql.ErrTxDone) {
		return err
	}
	return errors.Join(err, rollback)
}

// plan locks the rows that exist and decides for each record.
func (b *batch) plan(ctx context.Context, records []*record.Record, incarnation int64) ([]Outcome, error) {
	var rows map[string]*stored
	if !b.blind {
		var err error
		if rows, err = b.lock(ctx, records); err != nil {
			return nil, err
		}
		if err = b.compareEnded(ctx, records, rows); err != nil {
			return nil, fmt.Errorf("look at ended rows: %w", err)
		}
	}
	outcomes := make([]Outcome, len(records))
	for i, r := range records {
		row := rows[r.UID]
		v := version{incarnation: incarnation, res: r.ResVersion}
		outcomes[i] = decide(row, r, v)
		if !outcomes[i].writes() {
			continue
		}
		c := &change{Record: r, version: v, index: i, exists: row != nil, outcome: outcomes[i]}
		at := sql.NullTime{Time: b.now, Valid: true}
		switch {
		case outcomes[i] == Deleted, outcomes[i] == Amended && row.closed:
			c.deleteAt = at
		case outcomes[i] == Evicted, outcomes[i] == Amended:
			c.evictAt = at
		}
		b.changes = append(b.changes, c)
	}
	return outcomes, nil
}
