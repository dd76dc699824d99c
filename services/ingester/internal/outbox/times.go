package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// maxSetBack is by how much the clock may go back for times to be raised. An absurd clock for a moment must not give all later
// events its time.
const maxSetBack = 24 * time.Hour

// correctTimes raises the commit times of rows that are lower than that of a previous row of their kind: the clock of the
// database went back, and subscribers would drop the event of a lower sequence. The time is stored before an event is published
// with it, so that a row has the same sequence whenever it is published again. Microseconds are ignored: the sequence has none,
// and the ids of concurrent transactions are often in another order than their times.
func (r *Relay) correctTimes(ctx context.Context, rows []*row) error {
	latest := map[string]time.Time{} // by kind
	corrected := map[time.Time][]*row{}
	for _, o := range rows {
		at := later(latest[o.kind], r.position(o.kind).before(o))
		if o.precedes(at) {
			corrected[at] = append(corrected[at], o)
		}
		latest[o.kind] = later(at, o.committedAt)
	}
	for at, rows := range corrected {
		if err := r.setTime(ctx, rows, at); err != nil {
			return err
		}
	}
	return nil
}

// precedes reports whether the row has an earlier time, which is to be raised.
func (r *row) precedes(at time.Time) bool {
	return r.committedAt.UnixMilli() < at.UnixMilli() && at.Sub(r.committedAt) < maxSetBack
}

// before returns the latest known commit time of rows with lower ids than o. Events of a replaced database had higher ones.
func (p *position) before(o *row) (at time.Time) {
	if o.id > p.id {
		at = p.at
	}
	if o.id > p.read {
		at = later(at, p.latest)
	}
	return at
}

func (r *Relay) setTime(ctx context.Context, rows []*row, at time.Time) error {
	args := []any{at}
	for _, o := range rows {
		args = append(args, o.id)
	}
	defer r.cfg.Metrics.Statement(r.cfg.Clock, "outbox_correct")()
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(rows)), ", ")
	if _, err := r.cfg.DB.ExecContext(ctx, "UPDATE outbox SET committed_at = ? WHERE id IN ("+marks+")", args...); err != nil { //nolint:gosec // names of the schema; values are arguments
		return fmt.Errorf("correct commit times: %w", err)
	}
	r.cfg.Log.V(1).Info("Raised the commit times of change events, since the clock of the database went back",
		"events", len(rows), "from", rows[0].committedAt, "to", at)
	for _, o := range rows {
		o.committedAt = at
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
