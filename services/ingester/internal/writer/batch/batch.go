package batch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// Runner runs batches, each in one transaction. A caller that gets an error may repeat the call:
// it reads and decides again.
type Runner struct {
	DB      *sql.DB
	Clock   clock.Clock
	Metrics *metrics.Metrics
	// Incarnation of the cluster; see package incarnation.
	Incarnation int64
	// Outbox enables an outbox row for each change.
	Outbox bool
	// OnCommit is called after each commit that added outbox rows. It must not block.
	OnCommit func()
	// Statements caches the prepared statements of Run.
	Statements *statement.Cache
}

// batch is one transaction over rows of a kind.
type batch struct {
	tx      *sql.Tx
	kind    *registry.Kind
	now     time.Time
	changes []*change
	outbox  bool
	// insertOnly batches assume that all objects are new, without reading rows.
	insertOnly bool
	// statements caches prepared statements; nil prepares none.
	statements *statement.Cache
	// measure starts the measurement of a statement; nil measures nothing.
	measure func(action string) func()
}

func (r *Runner) newBatch(tx *sql.Tx, kind *registry.Kind) *batch {
	return &batch{
		tx: tx, kind: kind, now: r.Clock.Now().UTC().Truncate(time.Microsecond), outbox: r.Outbox,
		measure: func(action string) func() { return r.Metrics.Statement(r.Clock, action) },
	}
}

// begin begins a transaction on a connection that is released by end: a connection whose statement is broken must not
// return to the pool. end takes the error of the transaction, and rolls it back unless it was committed.
func (r *Runner) begin(ctx context.Context) (tx *sql.Tx, end func(error) error, err error) {
	conn, err := r.DB.Conn(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to MySQL: %w", err)
	}
	tx, err = conn.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return nil, nil, database.Release(ctx, conn, fmt.Errorf("begin transaction: %w", err))
	}
	return tx, func(err error) error {
		return database.Release(ctx, conn, withRollback(err, tx.Rollback()))
	}, nil
}

// Run commits records of one kind, in the order of their uids. With insertOnly set it does not read
// their rows first: if one exists, it fails with retry.ErrRaced.
func (r *Runner) Run(ctx context.Context, records []*record.Record, insertOnly bool) (outcomes []decision.Outcome, err error) {
	tx, end, err := r.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = end(err) }()
	b := r.newBatch(tx, records[0].Kind)
	b.statements, b.insertOnly = r.Statements, insertOnly
	outcomes, err = b.plan(ctx, records, r.Incarnation)
	if err != nil {
		return nil, fmt.Errorf("lock rows: %w", err)
	}
	if len(b.changes) == 0 {
		return outcomes, tx.Rollback() // no row changes: release the locks
	}
	if err := b.execute(ctx); err != nil {
		return nil, err
	}
	measured := b.measured("commit")
	err = tx.Commit()
	measured()
	if err != nil {
		return nil, fmt.Errorf("commit transaction: %w", err)
	}
	for _, c := range b.changes {
		outcomes[c.index] = c.outcome
	}
	if b.outbox {
		r.OnCommit()
	}
	return outcomes, nil
}

// execute runs the statements of a batch that changes rows.
func (b *batch) execute(ctx context.Context) error {
	if err := b.upsert(ctx); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	superseded, err := b.supersede(ctx)
	if err != nil {
		return fmt.Errorf("close superseded rows: %w", err)
	}
	if err := b.syncAllPairs(ctx); err != nil {
		return err
	}
	if !b.outbox {
		return nil
	}
	if err := b.insertOutbox(ctx, superseded); err != nil {
		return fmt.Errorf("write outbox: %w", err)
	}
	return nil
}

// transact runs fn in one transaction; fn reports whether it added outbox rows.
func (r *Runner) transact(ctx context.Context, kind *registry.Kind, fn func(*batch) (published bool, err error)) (err error) {
	tx, end, err := r.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { err = end(err) }()
	published, err := fn(r.newBatch(tx, kind))
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	if published && r.Outbox {
		r.OnCommit()
	}
	return nil
}

// measured starts the measurement of a statement; the returned function ends it.
func (b *batch) measured(action string) func() {
	if b.measure == nil {
		return func() {}
	}
	return b.measure(action)
}

// exec runs a statement in the transaction.
func (b *batch) exec(ctx context.Context, name statement.Name, text func() string, args []any) error {
	defer b.measured(name.Action)()
	_, err := b.statements.Exec(ctx, b.tx, name, text, args)
	return err
}

// query runs a query in the transaction and scans its rows.
func (b *batch) query(ctx context.Context, name statement.Name, text func() string, args []any, scan func(*sql.Rows) error) error {
	defer b.measured(name.Action)()
	return b.statements.Query(ctx, b.tx, name, text, args, scan)
}

// withRollback joins the error of a rollback, except sql.ErrTxDone: the transaction has ended
// already.
func withRollback(err, rollback error) error {
	if rollback == nil || errors.Is(rollback, sql.ErrTxDone) {
		return err
	}
	return errors.Join(err, rollback)
}
