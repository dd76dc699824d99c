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
)

// Outcome is the result of writing one record.
type Outcome string

// Outcomes of a write.
const (
	Created    Outcome = "created"
	Updated    Outcome = "updated"
	Restored   Outcome = "restored" // a closed row is live again
	Deleted    Outcome = "deleted"
	Evicted    Outcome = "evicted"
	Amended    Outcome = "amended"    // the row of a deleted or evicted object took a newer state of it, without an event
	Unchanged  Outcome = "unchanged"  // MySQL has all of it that is worth keeping
	Stale      Outcome = "stale"      // MySQL has a newer version
	Superseded Outcome = "superseded" // stored, but closed at once: a newer object has the name
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

const (
	defaultSlots    = 4
	defaultMaxRows  = 100
	defaultMaxBytes = 4 << 20
)

// Writer writes records. It is safe for concurrent use.
type Writer struct {
	cfg        Config
	queue      *queue
	statements *statements
	news       *news
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
	w := &Writer{cfg: cfg, queue: newQueue(cfg.MaxRows, cfg.MaxBytes), statements: newStatements(cfg.DB), news: newNews(cfg.MaxRows), stop: stop}
	w.queue.clock = cfg.Clock
	for range cfg.Slots {
		w.slots.Go(func() { w.work(ctx) })
	}
	return w
}

// Write commits one record and returns its outcome. It returns early when ctx
// ends; the record may then still be written.
func (w *Writer) Write(ctx context.Context, r *record.Record) (Outcome, error) {
	req := &request{record: r, done: make(chan struct{}), since: w.cfg.Clock.Now(), span: trace.SpanFromContext(ctx)}
	if !w.queue.put(req) {
		return "", ErrClosed
	}
	select {
	case <-req.done:
		return req.outcome, req.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Close writes the waiting records and stops the writer. Later records are rejected.
func (w *Writer) Close() {
	w.queue.close()
	w.slots.Wait()
	w.stop()
	if err := w.statements.close(); err != nil {
		w.cfg.Log.V(1).Info("Closed prepared statements incompletely", "reason", err.Error()) // the server drops them with the connection
	}
}

func (w *Writer) work(ctx context.Context) {
	for {
		batch := w.queue.take()
		if batch == nil {
			return
		}
		w.write(ctx, batch)
		w.queue.done(batch)
	}
}

// write commits a batch of one kind and answers every request of it.
func (w *Writer) write(ctx context.Context, batch []*request) {
	records := make([]*record.Record, 0, len(batch))
	for _, req := range batch {
		records = append(records, req.record)
	}
	outcomes, err := w.traced(ctx, batch, records)
	if err != nil && len(batch) > 1 && isContent(err) {
		// One of them is rejected for its content: find it, and write the others.
		half := len(batch) / 2
		w.write(ctx, batch[:half])
		w.write(ctx, batch[half:])
		return
	}
	if err != nil && !isContent(err) {
		w.cfg.Log.Error(err, "Failed to write a batch", "kind", records[0].Kind.Name, "objects", len(batch))
	}
	now := w.cfg.Clock.Now()
	for i, req := range batch {
		if err != nil {
			req.err = err
		} else {
			req.outcome = outcomes[i]
			w.count(req, now)
		}
		close(req.done)
	}
}

func (w *Writer) measure(what string) func() { return w.cfg.Metrics.Statement(w.cfg.Clock, what) }

func (w *Writer) count(req *request, now time.Time) {
	kind, m := req.record.Kind.Name, w.cfg.Metrics
	m.CommitLag.WithLabelValues(kind).Observe(now.Sub(req.since).Seconds())
	switch req.outcome {
	case Created, Updated, Restored:
		m.Upserts.WithLabelValues(kind, string(req.outcome)).Inc()
	case Deleted, Superseded:
		m.Deletes.WithLabelValues(kind).Inc()
	case Evicted:
		m.Evictions.WithLabelValues(kind).Inc()
	case Unchanged, Amended:
		m.Unchanged.WithLabelValues(kind).Inc()
	case Stale:
		m.Stale.WithLabelValues(kind).Inc()
	}
}
