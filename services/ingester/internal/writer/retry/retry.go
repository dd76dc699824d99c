// Package retry retries the transactions of the writer after transient failures.
package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
)

// Bounds of the retries of a transaction and of their backoff. Callers retry too, with a longer
// backoff.
//
// A concurrent row update permits more retries: another writer has made progress, and each retry
// has fewer contended rows.
const (
	maxAttempts = 8
	maxRaces    = 50
	minBackoff  = 10 * time.Millisecond
	timeout     = time.Minute // of one attempt
)

// ErrRaced means that another writer wrote a row between the read and the write of a transaction.
var ErrRaced = errors.New("concurrent row update")

// Policy retries transactions.
type Policy struct {
	Clock   clock.Clock
	Log     logr.Logger
	Metrics *metrics.Metrics
}

// Do runs a transaction over some objects of a kind, and retries it if the failure is transient.
func (p *Policy) Do(ctx context.Context, kind string, objects int, transact func(context.Context) error) error {
	backoff := minBackoff
	for attempt, raced := 1, 0; ; attempt++ {
		err := withTimeout(ctx, transact)
		if err == nil {
			p.Metrics.Batches.WithLabelValues(kind).Inc()
			p.Metrics.BatchRows.Observe(float64(objects))
			return nil
		}
		class := Classify(err)
		p.Metrics.Errors.WithLabelValues("write", string(class)).Inc()
		transient := class == database.Contention || class == database.Lost
		if errors.Is(err, ErrRaced) && raced < maxRaces {
			raced++
			attempt--
			continue
		}
		if !transient || attempt == maxAttempts || ctx.Err() != nil {
			return fmt.Errorf("write batch of kind %s, size %d: %w", kind, objects, err)
		}
		p.Log.V(1).Info("Failed to commit transaction, retrying", "kind", kind, "try", attempt, "class", class, "reason", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.Clock.After(jitter(backoff)):
		}
		backoff *= 2
	}
}

func withTimeout(ctx context.Context, transact func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return transact(ctx)
}

// Classify returns the class of an error of a transaction.
func Classify(err error) database.Class {
	if errors.Is(err, ErrRaced) {
		return database.Contention
	}
	return database.Classify(err)
}

// IsContent reports whether the server rejected the content of a row.
func IsContent(err error) bool { return Classify(err) == database.Content }

// jitter randomizes a backoff, so that two writers do not collide again.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d) //nolint:gosec // not a secret
}
