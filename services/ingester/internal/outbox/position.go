package outbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// position separates the rows of a restored backup, whose events may be in the stream, from later ones.
type position struct {
	known bool
	id    int64     // of the last event
	at    time.Time // commit time of the last event
	read  int64     // the last row that this relay has published since it read the stream
}

// covers reports whether the row's event may be in the stream. The ids of a replaced database may
// have restarted, and clocks differ, so either the id or the time suffices.
func (p *position) covers(o *row) bool { return o.id <= p.id || !o.committedAt.After(p.at) }

// removeRestored removes the rows of a restored backup whose events are in the stream. The first of
// these rows may have left the stream, and any number of others between those that are there, so
// all of them are looked up before one is published: from then on the last event would be one of theirs.
func (r *Relay) removeRestored(ctx context.Context) error {
	if err := r.locate(ctx); err != nil {
		r.cfg.Metrics.Errors.WithLabelValues("publish", class(err)).Inc()
		return fmt.Errorf("get last event from the stream: %w", err)
	}
	for after := int64(0); ; {
		page, err := r.read(ctx, after)
		if err != nil {
			return err
		}
		var covered []*row
		for _, o := range page {
			if r.position.covers(o) {
				covered = append(covered, o)
			}
			after = o.id
		}
		if len(covered) == 0 {
			break
		}
		if _, err := r.removeStored(ctx, covered); err != nil {
			return err
		}
	}
	r.position.known, r.position.read = true, 0
	return nil
}

// locate reads the last event of the cluster from the stream. The position never goes back.
func (r *Relay) locate(ctx context.Context) error {
	r.position.id = max(r.position.id, r.position.read)
	if r.position.known {
		return nil
	}
	cluster, err := contract.EncodeToken(r.cfg.Cluster)
	if err != nil {
		return err
	}
	change, err := lastOf(ctx, r.cfg.JetStream, contract.ChangePrefix+"."+cluster+".>")
	switch {
	case errors.Is(err, ErrNotAnEvent):
		r.position.id = math.MaxInt64
	case err != nil:
		return err
	case change != nil:
		r.position.id = max(r.position.id, change.OutboxID)
		if change.CommittedAt.After(r.position.at) {
			r.position.at = change.CommittedAt
		}
	}
	return nil
}

// wentBack reports whether a database with lower ids replaced the one of the rows published so far. A
// transaction that commits late looks the same, and costs a lookup.
func (p *position) wentBack(rows []*row) bool { return rows[0].id <= p.read }

// restart makes the relay look up its next rows in the stream.
func (r *Relay) restart() { r.position.known, r.overlap = false, overlapRows }
