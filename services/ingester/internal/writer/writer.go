package writer

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/batch"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/queue"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/retry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/statement"
)

// Outcome is the result of writing one record.
type Outcome = decision.Outcome

// Outcomes of a write; package decision describes them.
const (
	Created    = decision.Created
	Updated    = decision.Updated
	Restored   = decision.Restored
	Deleted    = decision.Deleted
	Evicted    = decision.Evicted
	Amended    = decision.Amended
	Unchanged  = decision.Unchanged
	Stale      = decision.Stale
	Superseded = decision.Superseded

	Unconfirmed = decision.Unconfirmed
	NotFound    = decision.NotFound
)

// Types of the methods that change rows without a record of the cluster.
type (
	// Edit returns the new content of a row; see [Writer.Amend]. It may be called more than once. Its
	// error ends the write and is returned unchanged.
	Edit = batch.Edit
	// Choice selects rows to close; see [Writer.CloseChosen]. It may be called more than once. An
	// error that a retry cannot clear ends the write and is returned unchanged.
	Choice = batch.Choice
	// Rewrite is one row whose derived columns are rewritten; see [Writer.Rewrite].
	Rewrite = batch.Rewrite
)

// ErrClosed means that the writer does not accept records any more.
var ErrClosed = errors.New("writer is closed")

// Config configures a Writer.
type Config struct {
	DB      *sql.DB
	Clock   clock.Clock
	Log     logr.Logger
	Metrics *metrics.Metrics
	// Incarnation of the cluster; see package incarnation.
	Incarnation int64
	// Outbox enables an outbox row for each change. Without a bus the rows would never be removed.
	Outbox bool
	// OnCommit is called after each commit that added outbox rows. It must not block.
	OnCommit func()

	// Limits; zero means the default.
	Slots    int // transactions at the same time, 4
	MaxRows  int // records in a transaction, 100
	MaxBytes int // bytes in a transaction, 4 MiB
}

// MinConnections is the smallest pool for the default of Slots: each slot holds a connection of
// its transaction while one of them prepares a statement on another.
const MinConnections = defaultSlots + 1

const (
	defaultSlots    = 4
	defaultMaxRows  = 100
	defaultMaxBytes = 4 << 20
)

// Writer writes records. It is safe for concurrent use.
type Writer struct {
	cfg        Config
	queue      *queue.Queue
	statements *statement.Cache
	hint       *insertHint
	batches    *batch.Runner
	retries    *retry.Policy
	stop       context.CancelFunc
	slots      sync.WaitGroup
}

// New starts a writer. ctx bounds its lifetime; [Writer.Close] stops it gracefully.
func New(ctx context.Context, cfg Config) *Writer {
	if cfg.Slots == 0 {
		cfg.Slots = defaultSlots
	}
	if cfg.MaxRows == 0 {
		cfg.MaxRows = defaultMaxRows
	}
	if cfg.MaxBytes == 0 {
		cfg.MaxBytes = defaultMaxBytes
	}
	if cfg.OnCommit == nil {
		cfg.OnCommit = func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	statements := statement.NewCache(cfg.DB)
	w := &Writer{
		cfg: cfg, stop: stop, statements: statements, hint: newInsertHint(cfg.MaxRows),
		queue:   queue.New(cfg.MaxRows, cfg.MaxBytes, cfg.Clock),
		retries: &retry.Policy{Clock: cfg.Clock, Log: cfg.Log, Metrics: cfg.Metrics},
		batches: &batch.Runner{
			DB: cfg.DB, Clock: cfg.Clock, Metrics: cfg.Metrics, Incarnation: cfg.Incarnation,
			Outbox: cfg.Outbox, OnCommit: cfg.OnCommit, Statements: statements,
		},
	}
	for range cfg.Slots {
		w.slots.Go(func() { w.runWorker(ctx) })
	}
	return w
}

// Write commits one record and returns its outcome. It returns early when ctx
// ends; the record may then still be written if its batch has begun.
func (w *Writer) Write(ctx context.Context, r *record.Record) (Outcome, error) {
	req := &queue.Request{Record: r, Done: make(chan struct{}), Since: w.cfg.Clock.Now(), Span: trace.SpanFromContext(ctx)}
	if !w.queue.Add(req) {
		return "", ErrClosed
	}
	select {
	case <-req.Done:
		return req.Outcome, req.Err
	case <-ctx.Done():
		w.queue.Remove(req)
		return "", ctx.Err()
	}
}

// Close writes the waiting records and stops the writer. Later records are rejected.
func (w *Writer) Close() {
	w.queue.Close()
	w.slots.Wait()
	w.stop()
	if err := w.statements.Close(); err != nil {
		w.cfg.Log.V(1).Info("Failed to close prepared statements", "reason", err.Error()) // the server drops them with the connection
	}
}

func (w *Writer) runWorker(ctx context.Context) {
	for {
		requests := w.queue.Take()
		if requests == nil {
			return
		}
		w.flush(ctx, requests)
		w.queue.Release(requests)
	}
}

// flush commits requests of one kind and sets the result of each.
func (w *Writer) flush(ctx context.Context, requests []*queue.Request) {
	records := make([]*record.Record, 0, len(requests))
	for _, req := range requests {
		records = append(records, req.Record)
	}
	outcomes, err := w.traced(ctx, requests, records)
	if err != nil && len(requests) > 1 && retry.IsContent(err) {
		// One of them is rejected for its content: find it, and write the others.
		half := len(requests) / 2
		w.flush(ctx, requests[:half])
		w.flush(ctx, requests[half:])
		return
	}
	if err != nil && !retry.IsContent(err) {
		w.cfg.Log.Error(err, "Failed to write batch", "kind", records[0].Kind.Name, "objects", len(requests))
	}
	now := w.cfg.Clock.Now()
	for i, req := range requests {
		if err != nil {
			req.Err = err
		} else {
			req.Outcome = outcomes[i]
			w.count(req, now)
		}
		close(req.Done)
	}
}

func (w *Writer) count(req *queue.Request, now time.Time) {
	kind, m := req.Record.Kind.Name, w.cfg.Metrics
	m.CommitLag.WithLabelValues(kind).Observe(now.Sub(req.Since).Seconds())
	switch req.Outcome {
	case Created, Updated, Restored:
		m.Upserts.WithLabelValues(kind, string(req.Outcome)).Inc()
	case Deleted, Superseded:
		m.Deletes.WithLabelValues(kind).Inc()
	case Evicted:
		m.Evictions.WithLabelValues(kind).Inc()
	case Unchanged, Amended, Unconfirmed, NotFound:
		m.Unchanged.WithLabelValues(kind).Inc()
	case Stale:
		m.Stale.WithLabelValues(kind).Inc()
	}
}
