package outbox

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// position separates the rows of a kind whose events may be in the stream from later ones. Each kind has its own: the events of
// another one do not cover the rows that were held.
type position struct {
	known bool      // all rows that it covers have been looked up
	id    int64     // of the last event
	at    time.Time // commit time of the last event
	read  int64     // the last row that this relay has published since it looked up the rows
	// latest is the highest commit time of these rows.
	latest time.Time
}

// covers reports whether the row's event may be in the stream. The ids of a replaced database may
// have restarted, and the clocks of two servers differ, so either the id or the time suffices.
func (p *position) covers(o *row) bool { return o.id <= p.id || !o.committedAt.After(p.at) }

func (r *Relay) position(kind string) *position {
	p := r.positions[kind]
	if p == nil {
		p = &position{}
		r.positions[kind] = p
	}
	return p
}

// forget makes the relay read the stream again before it publishes the next row of each kind.
func (r *Relay) forget() {
	for _, p := range r.positions {
		p.known = false
	}
}

// published moves the positions of the rows' kinds. The rows of a held kind were not published.
func (r *Relay) published(rows []*row) {
	for _, o := range r.withoutHeld(rows) {
		p := r.position(o.kind)
		p.read, p.latest = o.id, later(p.latest, o.committedAt)
	}
}

// unknown returns the kinds whose rows have to be looked up before one of them is published: those of which the relay has not
// read the stream, and those whose ids went back, as with a database that replaced the one of the rows published so far. A
// transaction that commits late looks the same. Kinds that are not in the contract have no events.
func (r *Relay) unknown(rows []*row) (kinds []string) {
	seen := map[string]bool{}
	for _, o := range rows {
		if seen[o.kind] || !contract.Kind(o.kind).Stored() {
			continue
		}
		seen[o.kind] = true
		if p := r.position(o.kind); !p.known || o.id <= p.read {
			kinds = append(kinds, o.kind)
		}
	}
	return kinds
}

// locate reads the last event of a kind from the stream, unless the relay knows it. The position never goes back.
func (r *Relay) locate(ctx context.Context, kind string) error {
	p := r.position(kind)
	p.id, p.at = max(p.id, p.read), later(p.at, p.latest)
	if p.known {
		return nil
	}
	cluster, err := contract.EncodeToken(r.cfg.Cluster)
	if err != nil {
		return err
	}
	change, err := lastOf(ctx, r.cfg.JetStream, contract.ChangePrefix+"."+cluster+".*."+kind+".>")
	switch {
	case errors.Is(err, ErrNotAnEvent):
		p.id = math.MaxInt64
	case err != nil:
		return err
	case change != nil:
		p.id = max(p.id, change.OutboxID)
		p.at = later(p.at, change.CommittedAt)
	}
	return nil
}
