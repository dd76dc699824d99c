package faults

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
)

// operator publishes observations, and writes the conditions while no aggregator does.
// It implements the guarantees of packages bus and standalone.
type operator struct {
	w                *simulation
	up               bool
	epoch            int64
	seqs             map[types.UID]uint64
	offeredState     map[string]actualState           // last offered state
	offered          map[string]contract.Observation  // last offered
	unacknowledged   map[string]*contract.Observation // not acknowledged; the newest of each object
	built            map[string]bool                  // has a seq: a retry is the same message
	streamGeneration int                              // generation of the stream that stored the messages
	lastHeartbeat    time.Time
	dropHeartbeats   bool // heartbeats are lost occasionally
	dropped          bool // the last heartbeat was lost

	seen struct { // the Lease, and when a change was last observed
		renewed time.Time
		at      time.Time
	}
	memory map[types.UID]conditions.State
	due    map[string]time.Time // end of the hold-down
}

func newOperator(w *simulation) *operator {
	o := &operator{w: w}
	o.start()
	return o
}

// start starts a new process: empty memory, and an epoch above all epochs in the stream.
func (o *operator) start() {
	var head int64
	for _, m := range o.w.last {
		head = max(head, m.o.Epoch)
	}
	*o = operator{
		w: o.w, up: true, epoch: max(o.w.now().UnixMilli(), head+1), streamGeneration: o.w.streamGeneration,
		seqs: map[types.UID]uint64{}, offered: map[string]contract.Observation{},
		unacknowledged: map[string]*contract.Observation{}, built: map[string]bool{},
		memory: map[types.UID]conditions.State{}, due: map[string]time.Time{}, offeredState: map[string]actualState{},
	}
	o.seen.at = o.w.now()
}

func (o *operator) tick() {
	if !o.up {
		return
	}
	changed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(o.w.actual)) {
		if now := *o.w.actual[name]; o.offeredState[name] != now { // package bus drops repetitions of the latest message
			o.offeredState[name] = now
			o.publish(name, o.w.observation(name))
			changed[name] = true
		}
	}
	if o.w.busUp {
		o.detectStreamLoss()
		o.sendHeartbeat()
		o.send()
	}
	o.reportStandalone(changed)
}

func (o *operator) publish(name string, obs contract.Observation) {
	o.offered[name] = obs
	o.unacknowledged[name] = &obs
	o.built[name] = false
}

// detectStreamLoss detects a lost stream with a delay, and offers all observations again.
func (o *operator) detectStreamLoss() {
	if o.streamGeneration == o.w.streamGeneration || !o.w.chance(30) {
		return
	}
	o.streamGeneration = o.w.streamGeneration
	for name, obs := range o.offered {
		o.publish(name, obs)
	}
}

func (o *operator) sendHeartbeat() {
	if o.w.now().Sub(o.lastHeartbeat) < bus.HeartbeatInterval {
		return
	}
	o.lastHeartbeat = o.w.now()
	if o.dropped = o.dropHeartbeats && !o.dropped && o.w.chance(10); o.dropped {
		return
	}
	o.w.lastHeartbeat = o.w.now()
	o.w.heartbeat.sequence++
	o.w.heartbeat.epoch, o.w.heartbeat.holding = o.epoch, len(o.unacknowledged) > 0
}

// send sends unacknowledged messages: the message, or its acknowledgment, may be lost.
func (o *operator) send() {
	for _, name := range slices.Sorted(maps.Keys(o.unacknowledged)) {
		obs := o.unacknowledged[name]
		if !o.built[name] {
			uid := types.UID(obs.Object.UID)
			o.seqs[uid]++
			obs.Epoch, obs.Seq = o.epoch, o.seqs[uid]
			o.built[name] = true
		}
		roll := o.w.random.IntN(100)
		if roll < 85 {
			o.w.publish(name, *obs)
		}
		if roll < 70 {
			delete(o.unacknowledged, name)
		}
	}
}

// reportStandalone writes the conditions like package standalone.
func (o *operator) reportStandalone(changed map[string]bool) {
	if !o.w.apiUp {
		return
	}
	now := o.w.now()
	if !o.w.lease.renewed.Equal(o.seen.renewed) {
		o.seen.renewed, o.seen.at = o.w.lease.renewed, now
	}
	if !o.seen.renewed.IsZero() && now.Sub(o.seen.at) < standalone.StaleAfter {
		clear(o.memory)
		clear(o.due)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(o.w.actual)) {
		due, damped := o.due[name]
		uid := o.w.actual[name].uid
		if _, known := o.memory[uid]; known && !changed[name] && (!damped || now.Before(due)) {
			continue
		}
		o.report(name)
	}
}

func (o *operator) report(name string) {
	live := o.w.objects[name]
	previous, err := conditionsOf(live)
	if err != nil {
		o.w.reportViolation("read conditions: %v", err)
		return
	}
	obs := o.offered[name]
	result := conditions.Compute(conditions.Input{
		Observation: &obs, Generation: live.GetGeneration(), Freshness: conditions.Fresh, Now: o.w.now(),
		Previous: previous, Memory: o.memory[live.GetUID()], WithReady: conditions.WithReady(o.w.kind.Token),
	})
	o.memory[live.GetUID()] = result.Memory
	delete(o.due, name)
	if !result.Next.IsZero() {
		o.due[name] = result.Next
	}
	if _, _, err := o.w.apply(observerName, live, result.Conditions, obs.ObservedAt); err != nil {
		o.w.reportViolation("write conditions: %v", err)
	}
}
