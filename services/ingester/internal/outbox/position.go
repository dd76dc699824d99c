package outbox

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// position separates the rows whose events may be in the stream from later ones.
type position struct {
	known bool      // all rows that it covers have been looked up
	id    int64     // of the last event
	at    time.Time // commit time of the last event
	read  int64     // the last row that this relay has published since it read the stream
}

// covers reports whether the row's event may be in the stream. The ids of a replaced database may
// have restarted, and the clocks of two servers differ, so either the id or the time suffices.
func (p *position) covers(o *row) bool { return o.id <= p.id || !o.committedAt.After(p.at) }

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
