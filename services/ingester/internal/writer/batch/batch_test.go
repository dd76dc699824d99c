package batch

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/retry"
)

// Between the plan and the execution of a batch another writer writes a newer version of one new
// object, and an older one of another. One statement for all would count 0 and 2 affected rows,
// the same as for two inserts, and publish a version that was never stored.
func TestExecuteDetectsConcurrentRows(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	builder, err := record.NewBuilder(kinds)
	if err != nil {
		t.Fatal(err)
	}
	version := func(name string, v int64) *record.Record {
		r, err := builder.Build(dbtest.Model(name, name, v), record.Live)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	second := newLockedBatch(t, db, version("a", 5), version("b", 5))
	first := newLockedBatch(t, db, version("a", 9), version("b", 1))
	if err := first.execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := first.tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := second.execute(t.Context()); !errors.Is(err, retry.ErrRaced) {
		t.Fatalf("got %v, want %v", err, retry.ErrRaced)
	}
}

// newLockedBatch opens a transaction that has locked its rows and has written nothing yet.
func newLockedBatch(t *testing.T, db *sql.DB, records ...*record.Record) *batch {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
			t.Error(err)
		}
	})
	b := &batch{tx: tx, kind: records[0].Kind, now: time.Now().UTC().Truncate(time.Microsecond), outbox: true}
	if _, err := b.plan(t.Context(), records, 1); err != nil {
		t.Fatal(err)
	}
	return b
}
