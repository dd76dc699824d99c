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

// How often a transaction is run again before its callers hear of the error, and
// how long the pauses are. Callers have a retry of their own, with longer pauses.
//
// A lost race is another matter: somebody else has made progress, and each one that
// we lose leaves fewer rows to lose about. So it may be run again more often.
const (
	attempts    = 8
	races       = 50
	firstPause  = 10 * time.Millisecond
	transaction = time.Minute // bounds one attempt
)

// errRaced says that a row appeared between our look and our write.
var errRaced = errors.New("a row was written by somebody else meanwhile")

// attempt runs the transaction, again if that may help.
func (w *Writer) attempt(ctx context.Context, records []*record.Record) ([]Outcome, error) {
	kind := records[0].Kind.Name
	pause := firstPause
	for try, lost := 1, 0; ; try++ {
		outcomes, err := w.transact(ctx, records)
		if err == nil {
			w.cfg.Metrics.Batches.WithLabelValues(kind).Inc()
			w.cfg.Metrics.BatchRows.Observe(float64(len(records)))
			return outcomes, nil
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
			return nil, fmt.Errorf("write %d objects of kind %s: %w", len(records), kind, err)
		}
		w.cfg.Log.V(1).Info("Repeated a transaction", "kind", kind, "try", try, "class", class, "reason", err.Error())
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-w.cfg.Clock.After(jitter(pause)):
		}
		pause *= 2
	}
}

func (w *Writer) transact(ctx context.Context, records []*record.Record) ([]Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, transaction)
	defer cancel()
	return w.commit(ctx, records)
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
