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

// operator publishes what it sees, and writes the conditions while no aggregator does.
// It keeps to what packages bus and standalone promise.
type operator struct {
	w     *world
	up    bool
	epoch int64
	seqs  map[types.UID]uint64
	saw   map[string]truth                 // when it was last offered
	said  map[string]contract.Observation  // last offered
	out   map[string]*contract.Observation // not acknowledged; the newest of each object
	built map[string]bool                  // has a seq already: a retry is the same message
	era   int                              // of the stream that took our messages
	beats time.Time
	lossy bool // a beat gets lost now and then
	lost  bool // the last one was

	seen struct { // the Lease, and when it was seen to change
		renewed time.Time
		at      time.Time
	}
	memory map[types.UID]conditions.State
	due    map[string]time.Time // when a hold-down ends
}

func newOperator(w *world) *operator {
	o := &operator{w: w}
	o.start()
	return o
}

// start begins a term: nothing in memory, an epoch above all that the stream knows.
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
		if now := *o.w.truths[name]; o.saw[name] != now { // package bus drops what repeats the latest message
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

// notice finds a stream that was lost, soon but not at once, and offers everything again.
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

// send tries what is not acknowledged: it arrives, or its acknowledgement gets lost, or all of it.
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

// standIn writes the conditions as package standalone does.
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
