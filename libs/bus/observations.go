package bus

import "github.com/flotilla-dev/flotilla/libs/contract"

// Observations publishes what one observer sees. A nil *Observations is "no bus": it takes everything and does nothing.
type Observations struct{ p *Publisher }

// NewObservations returns a publisher of observations for one observer in one
// cluster. epoch returns the start of the leadership term in milliseconds since 1970.
func NewObservations(p *Publisher, cluster string, me contract.Observer, epoch func() int64) *Observations {
	return &Observations{p: p}
}

// Offer publishes o as the newest observation of its object, unless it equals the
// last one. It sets Observer, Epoch, Seq and Coalesced.
func (o *Observations) Offer(kind contract.Kind, obs contract.Observation) {}

// Gone publishes that the object no longer exists, as a tombstone that expires, and forgets it.
func (o *Observations) Gone(kind contract.Kind, object contract.Object) {}

// Epoch returns the epoch that observations carry at the moment; heartbeats carry the same.
func (o *Observations) Epoch() int64 { return 0 }
