package object

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

func TestDecideOlderGeneration(t *testing.T) {
	unapplied := func() *model.Received { return observedOf(2, 1) }
	checkDecide(t, map[string]decideCase{
		"an engine waits for its instance, as shown by its operator's own Ready: compute": {
			inputs{state: liveness.Alive, received: observedFor(0, true), present: ownConditions(ready, false), waitingSince: now}, fresh,
		},
		"the same for a kind whose Ready the aggregator owns: hold": {
			inputs{state: liveness.Alive, received: observedFor(0, true), present: ownConditions(ready, true), waitingSince: now},
			decision{hold: true, retryAt: at(30)},
		},
		"an observation of an older generation than another writer has covered since: hold": {
			inputs{state: liveness.Alive, received: observedFor(1, true), present: conditionsFor(2), waitingSince: at(-29)},
			decision{hold: true, retryAt: at(1)},
		},
		"an observation of an older generation, and no newer one arrives: compute": {
			inputs{state: liveness.Alive, received: observedFor(1, true), present: conditionsFor(2), waitingSince: at(-30)}, fresh,
		},
		"an observation of the same generation: compute": {
			inputs{state: liveness.Alive, received: observedFor(2, false), present: conditionsFor(2)}, fresh,
		},
		"the conditions of a spec that was read and not applied, as observed: compute": {
			inputs{state: liveness.Alive, received: unapplied(), present: conditionsOf(2, 1), waitingSince: now}, fresh,
		},
		"another writer has covered a spec that was read and not applied since: hold": {
			inputs{state: liveness.Alive, received: unapplied(), present: conditionsOf(3, 1), waitingSince: now},
			decision{hold: true, retryAt: at(30)},
		},
		"another writer has covered the spec that was applied since: hold": {
			inputs{state: liveness.Alive, received: unapplied(), present: conditionsOf(2, 2), waitingSince: now},
			decision{hold: true, retryAt: at(30)},
		},
	})
}

// observedOf returns an observation of an object of which one generation was read and another one applied.
func observedOf(read, applied int64) *model.Received {
	h := observedFor(applied, true)
	h.Observation.Object.Generation = read
	return h
}

// conditionsOf returns the conditions of a spec that was read and takes no effect.
func conditionsOf(read, applied int64) []metav1.Condition {
	var out []metav1.Condition
	for _, conditionType := range conditions.TypesOf(true) {
		generation := read
		switch conditionType {
		case conditions.TypeAvailable, conditions.TypeStopped, conditions.TypeReady:
			generation = applied
		}
		out = append(out, metav1.Condition{Type: conditionType, ObservedGeneration: generation})
	}
	return out
}

func TestEvidence(t *testing.T) {
	present := []metav1.Condition{
		{Type: conditions.TypeAvailable, ObservedGeneration: 2},
		{Type: conditions.TypePaused, ObservedGeneration: 3},
		{Type: "Foreign", ObservedGeneration: 9},
	}
	cases := map[string]struct {
		received  *model.Received
		present   []metav1.Condition
		freshness conditions.Freshness
		want      [2]int64 // generations of Available and of Paused; zero: no observation
		stale     conditions.Freshness
	}{
		"fresh: as it is":                                      {observedFor(1, true), present, conditions.Fresh, [2]int64{1, 1}, conditions.Fresh},
		"stale: not behind what the object shows":              {observedFor(1, true), present, conditions.ObserverStale, [2]int64{2, 3}, conditions.ObserverStale},
		"lost, and the object shows that there was one: stale": {nil, present, conditions.NeverObserved, [2]int64{2, 3}, conditions.ObserverStale},
		"never observed":                                       {nil, nil, conditions.NeverObserved, [2]int64{}, conditions.NeverObserved},
		"stale, the spec was not applied":                      {observedOf(3, 2), conditionsOf(3, 2), conditions.ObserverStale, [2]int64{2, 3}, conditions.ObserverStale},
		"stale, a newer spec was read":                         {observedOf(2, 1), conditionsOf(4, 1), conditions.ObserverStale, [2]int64{1, 4}, conditions.ObserverStale},
		"lost, the spec was not applied":                       {nil, conditionsOf(3, 2), conditions.NeverObserved, [2]int64{2, 3}, conditions.ObserverStale},
		"lost, nothing was ever applied":                       {nil, conditionsOf(1, 0), conditions.NeverObserved, [2]int64{0, 1}, conditions.ObserverStale},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, freshness := effectiveObservation(inputs{received: tc.received, present: ownConditions(tc.present, true)}, tc.freshness, "x")
			var got [2]int64
			if o != nil {
				got = [2]int64{o.ObservedGeneration, o.Object.Generation}
			}
			if got != tc.want || freshness != tc.stale {
				t.Errorf("covers %v, freshness %d, want %v, %d", got, freshness, tc.want, tc.stale)
			}
		})
	}
}

// ineffective lists each kind of spec that was read and takes no effect.
var ineffective = map[string]func(*contract.Observation){
	"paused":  func(o *contract.Observation) { o.Intent.Paused = true },
	"waiting": func(o *contract.Observation) { o.Reconcile.Reason = conditions.ReasonAwaitingApproval },
	"rejected": func(o *contract.Observation) {
		o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true}
	},
	"a task failed": func(o *contract.Observation) { o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobFailed}} },
}

// The conditions of a spec that takes no effect are followed without a pause, and once the observer is stale they
// cover no generation that was not applied.
func TestSpecThatTakesNoEffect(t *testing.T) {
	for name, change := range ineffective {
		t.Run(name, func(t *testing.T) {
			received := observedOf(2, 1)
			received.Observation.Reconcile.Outcome = contract.Succeeded
			change(&received.Observation)
			in := conditions.Input{Observation: &received.Observation, Generation: 2, Now: now, WithReady: true}
			before := conditions.Compute(in).Conditions
			for what, next := range map[string]*model.Received{"again": received, "once it takes effect": observedOf(2, 1)} {
				if d := decide(inputs{now: now, state: liveness.Alive, received: next, present: before, waitingSince: now}); d != fresh {
					t.Errorf("observed %s: decision %+v, want %+v", what, d, fresh)
				}
			}
			for _, lost := range []*model.Received{received, nil} {
				in.Previous = before
				in.Observation, in.Freshness = effectiveObservation(inputs{received: lost, present: before}, conditions.ObserverStale, "x")
				for i, c := range conditions.Compute(in).Conditions {
					if c.ObservedGeneration > before[i].ObservedGeneration || c.ObservedGeneration < 1 {
						t.Errorf("%s covers generation %d, before the observer was stale %d", c.Type, c.ObservedGeneration, before[i].ObservedGeneration)
					}
				}
			}
		})
	}
}
