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
	w     *world
	up    bool
	epoch int64
	seqs  map[types.UID]uint64
	saw   map[string]truth                 // last offered state
	said  map[string]contract.Observation  // last offered
	out   map[string]*contract.Observation // not acknowledged; the newest of each object
	built map[string]bool                  // has a seq: a retry is the same message
	era   int                              // era of the stream that stored the messages
	beats time.Time
	lossy bool // heartbeats are lost occasionally
	lost  bool // the last heartbeat was lost

	seen struct { // the Lease, and when a change was last observed
		renewed time.Time
		at      time.Time
	}
	memory map[types.UID]conditions.State
	due    map[string]time.Time // end of the hold-down
}

func newOperator(w *world) *operator {
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
		w: o.w, up: true, epoch: max(o.w.now().UnixMilli(), head+1), era: o.w.era,
		seqs: map[types.UID]uint64{}, said: map[string]contract.Observation{},
		out: map[string]*contract.Observation{}, built: map[string]bool{},
		memory: map[types.UID]conditions.State{}, due: map[string]time.Time{}, saw: map[string]truth{},
	}
	o.seen.at = o.w.now()
}

func (o *operator) tick() {
	if !o.up {
		return
	}
	changed := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(o.w.truths)) {
		if now := *o.w.truths[name]; o.saw[name] != now { // package bus drops repetitions of the latest message
			o.saw[name] = now
			o.offer(name, o.w.observation(name))
			changed[name] = true
		}
	}
	if o.w.busUp {
		o.notice()
		o.beat()
		o.send()
	}
	o.standIn(changed)
}

func (o *operator) offer(name string, obs contract.Observation) {
	o.said[name] = obs
	o.out[name] = &obs
	o.built[name] = false
}

// notice detects a lost stream with a delay, and offers all observations again.
func (o *operator) notice() {
	if o.era == o.w.era || !o.w.chance(30) {
		return
	}
	o.era = o.w.era
	for name, obs := range o.said {
		o.offer(name, obs)
	}
}

func (o *operator) beat() {
	if o.w.now().Sub(o.beats) < bus.HeartbeatInterval {
		return
	}
	o.beats = o.w.now()
	if o.lost = o.lossy && !o.lost && o.w.chance(10); o.lost {
		return
	}
	o.w.lastSign = o.w.now()
	o.w.beat.sequence++
	o.w.beat.epoch, o.w.beat.holding = o.epoch, len(o.out) > 0
}

// send sends unacknowledged messages: the message, or its acknowledgment, may be lost.
func (o *operator) send() {
	for _, name := range slices.Sorted(maps.Keys(o.out)) {
		obs := o.out[name]
		if !o.built[name] {
			uid := types.UID(obs.Object.UID)
			o.seqs[uid]++
			obs.Epoch, obs.Seq = o.epoch, o.seqs[uid]
			o.built[name] = true
		}
		fate := o.w.random.IntN(100)
		if fate < 85 {
			o.w.publish(name, *obs)
		}
		if fate < 70 {
			delete(o.out, name)
		}
	}
}

// standIn writes the conditions like package standalone.
func (o *operator) standIn(changed map[string]bool) {
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
	for _, name := range slices.Sorted(maps.Keys(o.w.truths)) {
		due, held := o.due[name]
		uid := o.w.truths[name].uid
		if _, known := o.memory[uid]; known && !changed[name] && (!held || now.Before(due)) {
			continue
		}
		o.report(name)
	}
}

func (o *operator) report(name string) {
	live := o.w.objects[name]
	previous, err := conditionsOf(live)
	if err != nil {
		o.w.violate("read conditions: %v", err)
		return
	}
	obs := o.said[name]
	folded := conditions.Compute(conditions.Input{
		Observation: &obs, Generation: live.GetGeneration(), Freshness: conditions.Fresh, Now: o.w.now(),
		Previous: previous, Memory: o.memory[live.GetUID()], WithReady: o.w.kind.WithReady,
	})
	o.memory[live.GetUID()] = folded.Memory
	delete(o.due, name)
	if !folded.Next.IsZero() {
		o.due[name] = folded.Next
	}
	if _, _, err := o.w.apply(observerName, live, folded.Conditions, obs.ObservedAt); err != nil {
		o.w.violate("write conditions: %v", err)
	}
}
