package outbox

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// heldRetryInterval is longer than the bus remembers a denial, so that a retry does not find the one before.
const heldRetryInterval = 2 * time.Minute

// hold keeps the rows of a kind whose subject the bus denies. Permissions are by kind, so the other events of the kind
// would be denied as well. The other kinds are published, and no event overtakes another one of its object.
func (r *Relay) hold(o *row, subject string) {
	r.cfg.Metrics.Errors.WithLabelValues("publish", "denied").Inc()
	if _, known := r.held[o.kind]; !known {
		r.cfg.Log.Error(bus.ErrDenied, "Held the change events of a kind, retrying: check the permissions of deploy/nats/ingester.conf",
			"kind", o.kind, "subject", subject)
	}
	r.held[o.kind] = r.cfg.Clock.Now().Add(heldRetryInterval)
}

// heldKinds returns the kinds that are held.
func (r *Relay) heldKinds() []string { return slices.Sorted(maps.Keys(r.held)) }

// openKinds returns the other kinds.
func (r *Relay) openKinds() (kinds []string) {
	for _, kind := range contract.Kinds() {
		if _, held := r.held[string(kind)]; kind.Stored() && !held {
			kinds = append(kinds, string(kind))
		}
	}
	return kinds
}

// retryHeldNow makes all held kinds due: a new connection may have other permissions.
func (r *Relay) retryHeldNow() {
	for kind := range r.held {
		r.held[kind] = time.Time{}
	}
}

// retryHeld publishes the first event of each held kind that is due. If the bus accepts it, the kind is no longer held, and
// its rows are looked up in the stream like those of a relay that starts.
func (r *Relay) retryHeld(ctx context.Context) error {
	for _, kind := range r.heldKinds() {
		due, now := r.held[kind], r.cfg.Clock.Now()
		if now.Before(due) {
			continue
		}
		first, err := r.readKind(ctx, kind, 0, 1)
		if err != nil {
			return err
		}
		if err := r.publish(ctx, first, now); err != nil {
			return err
		}
		if r.held[kind].Equal(due) {
			delete(r.held, kind)
			r.position(kind).known = false
			r.cfg.Log.Info("Publishing the change events of a kind again", "kind", kind)
		}
	}
	return nil
}

// withoutHeld returns the rows whose kinds are not held.
func (r *Relay) withoutHeld(rows []*row) []*row {
	return slices.DeleteFunc(rows, func(o *row) bool {
		_, held := r.held[o.kind]
		return held
	})
}
