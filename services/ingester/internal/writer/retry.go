package writer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
)

// These constants bound how often a transaction is retried before its callers get the error,
// and the pauses. Callers have a retry of their own, with longer pauses.
//
// A lost race is different: another writer has made progress, and each lost race leaves
// fewer rows to race for. So it may be retried more often.
const (
	attempts    = 8
	races       = 50
	firstPause  = 10 * time.Millisecond
	transaction = time.Minute // bounds one attempt
)

// errRaced means that a row appeared between our read and our write.
var errRaced = errors.New("a row was written by somebody else meanwhile")

// attempt runs the transaction, again if that may help.
func (w *Writer) attempt(ctx context.Context, records []*record.Record) (outcomes []Outcome, err error) {
	kind := records[0].Kind.Name
	err = w.retry(ctx, kind, len(records), func(ctx context.Context) (err error) {
		if w.news.expected(records) {
			outcomes, err = w.commit(ctx, records, true)
			if !errors.Is(err, errRaced) {
				return err
			}
			w.news.seen(records, nil)
		}
		outcomes, err = w.commit(ctx, records, false)
		return err
	})
	if err == nil {
		w.news.seen(records, outcomes)
	}
	return outcomes, err
}

// retry runs a transaction over some objects of a kind, again if that may help.
func (w *Writer) retry(ctx context.Context, kind string, objects int, transact func(context.Context) error) error {
	pause := firstPause
	for try, lost := 1, 0; ; try++ {
		err := bounded(ctx, transact)
		if err == nil {
			w.cfg.Metrics.Batches.WithLabelValues(kind).Inc()
			w.cfg.Metrics.BatchRows.Observe(float64(objects))
			return nil
		}
		class := classify(err)
		w.cfg.Metrics.Errors.WithLabelValues("write", string(class)).Inc()
		again := class == database.Contention || class == database.Lost
		if errors.Is(err, errRaced) && lost < races {
			lost++
			try--
			continue
		}
		if !again || try == attempts || ctx.Err() != nil {
			return fmt.Errorf("write %d objects of kind %s: %w", objects, kind, err)
		}
		w.cfg.Log.V(1).Info("Repeated a transaction", "kind", kind, "try", try, "class", class, "reason", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.cfg.Clock.After(jitter(pause)):
		}
		pause *= 2
	}
}

func bounded(ctx context.Context, transact func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, transaction)
	defer cancel()
	return transact(ctx)
}

func classify(err error) database.Class {
	if errors.Is(err, errRaced) {
		return database.Contention
	}
	return database.Classify(err)
}

func isContent(err error) bool { return classify(err) == database.Content }

// jitter keeps two writers that met once from meeting again.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // not a secret
}
