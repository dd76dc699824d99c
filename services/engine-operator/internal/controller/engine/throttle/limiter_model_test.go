package throttle

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// The search visits every state of a small fleet: two engines of one namespace, one of
// another, and the real limiter. Engines differ from their class, get a slot or wait, roll
// out, hang, are edited or deleted; the cache is stale; status writes fail.

const fleetSize = 3

var namespaces = [fleetSize]int{0, 0, 1}

func namespace(i int) string { return [2]string{"big", "small"}[namespaces[i]] }

func uid(i int) types.UID { return [fleetSize]types.UID{"e0", "e1", "e2"}[i] }

// States of an engine: up to date, differing from its class, rolling out, or rolling out without progress.
const (
	current int8 = iota
	outdated
	rollingOut
	stalled
)

// States of waiting: the engine does not wait, tried recently, or did not try recently.
const (
	notWaiting int8 = iota
	waitingNow
	waitExpired
)

// fleet is one state. It has no names and no times, so that it can be a map key.
type fleet struct {
	state    [fleetSize]int8
	external [fleetSize]bool // the rollout requires a slot
	cached   [fleetSize]bool // the cache shows a rollout
	slot     [fleetSize]bool
	waiting  [fleetSize]int8
	order    [2]uint64 // rank of each namespace's latest slot; zero means none
}

// fleetEngines has two variants of each engine: with and without progress.
var fleetEngines = func() (out [fleetSize][2]v1alpha1.FireboltEngine) {
	for i := range out {
		for j, age := range []time.Duration{time.Minute, time.Hour} {
			out[i][j] = rollingEngine(namespace(i), string(uid(i)), v1alpha1.PhaseCreating, age)
			out[i][j].UID = uid(i)
		}
	}
	return out
}()

var testClock = clocktesting.NewFakePassiveClock(testTime)

func (f fleet) engine(i int) v1alpha1.FireboltEngine {
	if f.state[i] == stalled {
		return fleetEngines[i][1]
	}
	return fleetEngines[i][0]
}

// limiter returns a limiter with the state of the fleet.
func (f fleet) limiter(limit int) *Limiter {
	cache := &listed{}
	l := New(limit, cache, testClock)
	for i := range fleetSize {
		if f.cached[i] {
			cache.engines = append(cache.engines, f.engine(i))
		}
		if f.slot[i] {
			l.slots[uid(i)] = slot{namespace(i), 7}
		}
		if f.waiting[i] != notWaiting {
			at := testTime.Add(-time.Hour * time.Duration(f.waiting[i]-waitingNow))
			l.waiting[uid(i)] = waiter{engine: types.NamespacedName{Namespace: namespace(i), Name: string(uid(i))}, since: at, at: at}
		}
	}
	for n, rank := range f.order {
		if rank > 0 {
			l.latest[[2]string{"big", "small"}[n]] = rank
		}
		l.granted = max(l.granted, rank)
	}
	return l
}

// withLimiterState copies the state of the limiter.
func (f fleet) withLimiterState(l *Limiter) fleet {
	for i := range fleetSize {
		_, f.slot[i] = l.slots[uid(i)]
		f.waiting[i] = notWaiting
		if w, ok := l.waiting[uid(i)]; ok {
			f.waiting[i] = waitingNow
			if w.at.Before(testTime) {
				f.waiting[i] = waitExpired
			}
		}
	}
	big, small := l.latest["big"], l.latest["small"]
	f.order = [2]uint64{}
	switch { // only the order matters
	case big > small:
		f.order = [2]uint64{1, 0}
		if small > 0 {
			f.order = [2]uint64{2, 1}
		}
	case small > big:
		f.order = [2]uint64{0, 1}
		if big > 0 {
			f.order = [2]uint64{1, 2}
		}
	}
	return f
}

// busy counts the other rollouts that make progress, in total and by namespace.
func (f fleet) busy(i int) (total int, byNamespace [2]int) {
	for j := range fleetSize {
		if j != i && (f.slot[j] || (f.cached[j] && f.state[j] != stalled)) {
			total++
			byNamespace[namespaces[j]]++
		}
	}
	return total, byNamespace
}

var limiterInvariants = map[string]string{
	"LimitHolds":                "No slot is given while as many others roll out and make progress as may.",
	"StuckTakesNoSlot":          "An engine is denied only while others make progress, or one of another namespace waits.",
	"NamespacesAreServedInTurn": "No slot is given while one waits in a namespace with fewer rollouts, or with as many and an older slot.",
	"EveryoneGetsASlot":         "Engines that try again get a slot in the end, whatever hangs, and in whatever order they try.",
	"UnusedSlotsReturn":         "A slot that was not used is free again.",
}

// acquire lets an engine acquire a slot, and returns the name of a violated invariant.
func (f fleet) acquire(t *testing.T, limit, i int) (next fleet, acquired bool, violated string) {
	t.Helper()
	l := f.limiter(limit)
	e := f.engine(i)
	acquired, _, err := l.Acquire(t.Context(), &e, 7)
	if err != nil {
		t.Fatal(err)
	}
	total, byNamespace := f.busy(i)
	own, other, otherWaits := namespaces[i], 1-namespaces[i], false
	advance := 0
	for j := range fleetSize {
		otherWaits = otherWaits || (namespaces[j] == other && f.waiting[j] == waitingNow)
		if j != i && f.external[j] && f.state[j] == rollingOut {
			advance++
		}
	}
	otherFirst := byNamespace[other] < byNamespace[own] || (byNamespace[other] == byNamespace[own] && f.order[other] < f.order[own])
	switch {
	case acquired && advance >= limit:
		violated = "LimitHolds"
	case !acquired && total < limit && !otherWaits:
		violated = "StuckTakesNoSlot"
	case acquired && otherWaits && otherFirst && !f.slot[i]:
		violated = "NamespacesAreServedInTurn"
	}
	return f.withLimiterState(l), acquired, violated
}

// withRollout returns the state after the engine recorded its rollout.
func (f fleet) withRollout(i int) fleet {
	f.state[i], f.external[i] = rollingOut, true
	return f
}

// withCachedEngine returns the state after the cache shows the engine, which drops its slot.
func (f fleet) withCachedEngine(i int) fleet {
	l := f.limiter(1)
	e := f.engine(i)
	if f.state[i] != outdated {
		e.Status.CurrentGeneration, e.Status.LastAllocatedGeneration = 7, new(int64(7))
	}
	l.Observe(&e)
	f.cached[i] = f.state[i] >= rollingOut
	return f.withLimiterState(l)
}
