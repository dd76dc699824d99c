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
	known bool                 // all rows that it covers have been looked up
	last  map[string]lastEvent // by kind: the events of another kind do not cover the rows of a kind that was held
	read  int64                // the last row that this relay has published since it read the stream
}

// lastEvent is the last event of a kind.
type lastEvent struct {
	id int64
	at time.Time // commit time
}

// covers reports whether the row's event may be in the stream. The ids of a replaced database may
// have restarted, and the clocks of two servers differ, so either the id or the time suffices.
func (p *position) covers(o *row) bool {
	last := p.last[o.kind]
	return o.id <= last.id || !o.committedAt.After(last.at)
}

// locate reads the last event of a kind from the stream. The position never goes back.
func (r *Relay) locate(ctx context.Context, kind string) error {
	cluster, err := contract.EncodeToken(r.cfg.Cluster)
	if err != nil {
		return err
	}
	last := r.position.last[kind]
	change, err := lastOf(ctx, r.cfg.JetStream, contract.ChangePrefix+"."+cluster+".*."+kind+".>")
	switch {
	case errors.Is(err, ErrNotAnEvent):
		last.id = math.MaxInt64
	case err != nil:
		return err
	case change != nil:
		last.id = max(last.id, change.OutboxID)
		if change.CommittedAt.After(last.at) {
			last.at = change.CommittedAt
		}
	}
	r.position.last[kind] = last
	return nil
}

// wentBack reports whether a database with lower ids replaced the one of the rows published so far. A
// transaction that commits late looks the same, and costs a lookup.
func (p *position) wentBack(rows []*row) bool { return rows[0].id <= p.read }
