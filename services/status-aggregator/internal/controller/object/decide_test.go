package object

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }

func observed(epoch int64, seq uint64, live bool) *model.Received {
	return &model.Received{Observation: contract.Observation{Epoch: epoch, Seq: seq}, Live: live}
}

func entryAt(epoch int64, seq uint64) *contract.StatusEntry {
	return &contract.StatusEntry{Provenance: &contract.Provenance{Epoch: epoch, Seq: seq}}
}

// entryWith returns an entry with the conditions of an object.
func entryWith(epoch int64, seq uint64, present []metav1.Condition) *contract.StatusEntry {
	e := entryAt(epoch, seq)
	e.Conditions = toContract(present)
	return e
}

func observedFor(generation int64, live bool) *model.Received {
	h := observed(1, 1, live)
	h.Observation.ObservedGeneration = generation
	h.Observation.Object.Generation = generation
	return h
}

func conditionsFor(generation int64) []metav1.Condition {
	return []metav1.Condition{{Type: conditions.TypeAvailable, ObservedGeneration: generation}}
}

// Conditions of an object.
var (
	present = []metav1.Condition{{Type: conditions.TypeAvailable, Status: metav1.ConditionTrue}}
	later   = []metav1.Condition{{Type: conditions.TypeAvailable, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(-60))}}
	ready   = []metav1.Condition{{Type: "LifecycleComplete", ObservedGeneration: 1}, {Type: conditions.TypeReady, ObservedGeneration: 1}}
)

// Frequent decisions.
var (
	hold  = decision{hold: true}
	fresh = decision{freshness: conditions.Fresh}
)

type decideCase struct {
	inputs inputs
	want   decision
}

func checkDecide(t *testing.T, cases map[string]decideCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.inputs.now = now
			got := decide(tc.inputs)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(decision{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if !got.retryAt.IsZero() && !got.retryAt.After(now) {
				t.Errorf("the next decision is %s in the past: the object is reconciled without a pause", now.Sub(got.retryAt))
			}
		})
	}
}

func TestDecideByObserverState(t *testing.T) {
	checkDecide(t, map[string]decideCase{
		"disconnected: hold": {
			inputs{state: liveness.Disconnected, received: observed(1, 1, true), present: present}, hold,
		},
		"alive: compute": {
			inputs{state: liveness.Alive, received: observed(1, 1, false), present: present}, fresh,
		},
		"alive, observation unchanged: compute, since time may have passed": {
			inputs{state: liveness.Alive, received: observed(1, 1, false), entry: entryAt(1, 1), present: present}, fresh,
		},
		"stale: report it": {
			inputs{state: liveness.Stale, received: observed(1, 1, true), entry: entryAt(1, 1), present: present},
			decision{freshness: conditions.ObserverStale},
		},
	})
}

func TestDecideUnconfirmedObserver(t *testing.T) {
	checkDecide(t, map[string]decideCase{
		"unconfirmed, and another writer may have written conditions since: hold": {
			inputs{state: liveness.Unconfirmed, received: observed(1, 1, false), entry: entryAt(1, 1), present: present}, hold,
		},
		"unconfirmed because the observer is overdue: hold, and requeue": {
			inputs{state: liveness.Unconfirmed, overdue: true, received: observed(1, 1, true), entry: entryAt(1, 1), present: present},
			decision{hold: true, retryAt: at(1)},
		},
		"unconfirmed, a newer retained observation: hold, an even newer one may be pending": {
			inputs{state: liveness.Unconfirmed, received: observed(1, 2, false), entry: entryAt(1, 1), present: present}, hold,
		},
		"unconfirmed, a newer live observation, and the object shows our last write: compute": {
			inputs{state: liveness.Unconfirmed, received: observed(1, 2, true), entry: entryWith(1, 1, present), present: present}, fresh,
		},
		"unconfirmed, a live observation of a greater epoch: compute": {
			inputs{state: liveness.Unconfirmed, received: observed(2, 1, true), entry: entryWith(1, 9, present), present: present}, fresh,
		},
		"unconfirmed, a newer live observation, but another writer has written since: hold": {
			inputs{state: liveness.Unconfirmed, received: observed(1, 2, true), entry: entryWith(1, 1, later), present: present}, hold,
		},
		"unconfirmed, a live observation, and an unknown writer of the object's conditions: hold": {
			inputs{state: liveness.Unconfirmed, received: observed(1, 2, true), present: present}, hold,
		},
		"unconfirmed, but the object has no conditions yet: compute": {
			inputs{state: liveness.Unconfirmed, received: observed(1, 1, false), present: ownConditions(ready, false)}, fresh,
		},
	})
}

func TestDecideOlderObservation(t *testing.T) {
	checkDecide(t, map[string]decideCase{
		"an observation older than the entry, same epoch: hold": {
			inputs{state: liveness.Alive, received: observed(1, 1, true), entry: entryAt(1, 2), present: present}, hold,
		},
		"a lower epoch while the former one is alive: hold until it expires": {
			inputs{state: liveness.Alive, received: observed(1, 9, true), entry: entryAt(2, 1), formerExpiry: at(20), present: present},
			decision{hold: true, retryAt: at(20)},
		},
		"a lower epoch after the former one expired: compute": {
			inputs{state: liveness.Alive, received: observed(1, 9, true), entry: entryAt(2, 1), present: present}, fresh,
		},
		"a lower epoch is pending while the former one is alive: compute, and requeue": {
			inputs{state: liveness.Alive, received: observed(2, 1, true), entry: entryAt(2, 1), formerExpiry: at(20), present: present},
			decision{freshness: conditions.Fresh, retryAt: at(20)},
		},
	})
}

func TestDecideWithoutObservation(t *testing.T) {
	checkDecide(t, map[string]decideCase{
		"no observation of a new object: hold": {
			inputs{state: liveness.Alive, waitingSince: at(-5)}, decision{hold: true, retryAt: at(25)},
		},
		"no observation for long although the observer is alive: never observed": {
			inputs{state: liveness.Alive, waitingSince: at(-30)}, decision{freshness: conditions.NeverObserved},
		},
		"no observation, and a stale observer: never observed": {
			inputs{state: liveness.Stale, waitingSince: now}, decision{freshness: conditions.NeverObserved},
		},
		"no observation, and an unconfirmed observer: hold": {
			inputs{state: liveness.Unconfirmed, waitingSince: at(-300), present: present}, hold,
		},
		"no observation, and an overdue observer: hold, and requeue": {
			inputs{state: liveness.Unconfirmed, overdue: true, waitingSince: at(-300)}, decision{hold: true, retryAt: at(1)},
		},
	})
}

// A probe that finds a heartbeat does not change the state, so the watchdog enqueues no objects.
func TestDecisionInputsOfOverdueObserver(t *testing.T) {
	tracker := liveness.NewTracker(0, liveness.DefaultInactivity, "o")
	tracker.SetConnected(at(-60))
	tracker.RecordSeen("o", 1, liveness.DefaultValidity, at(-30))
	r := &Reconciler{cfg: Config{Model: model.NewStore(), Liveness: tracker}}
	live := observe.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{}}}
	f := r.decisionInputs(&reconcileState{now: now, kind: registry.Kind{Observer: "o"}, live: live, record: &history.Record{}})
	if f.state != liveness.Unconfirmed || !f.overdue {
		t.Errorf("state %s, overdue %v, want %s, true", f.state, f.overdue, liveness.Unconfirmed)
	}
}

func TestPrevious(t *testing.T) {
	available := func(status metav1.ConditionStatus, second int) metav1.Condition {
		return metav1.Condition{Type: conditions.TypeAvailable, Status: status, LastTransitionTime: metav1.NewTime(at(second))}
	}
	entry := func(list ...metav1.Condition) *contract.StatusEntry {
		return &contract.StatusEntry{Conditions: toContract(list)}
	}
	cases := map[string]struct {
		present []metav1.Condition
		entry   *contract.StatusEntry
		want    []metav1.Condition
	}{
		"neither object nor entry": {},
		"only the object, without conditions of other owners": {
			present: []metav1.Condition{{Type: "LifecycleComplete"}, available("True", 1)},
			want:    []metav1.Condition{available("True", 1)},
		},
		"only the entry, since the object lost its status": {
			entry: entry(available("True", 1)), want: []metav1.Condition{available("True", 1)},
		},
		"operators wrote while the aggregator was down": {
			present: []metav1.Condition{available("False", 9)}, entry: entry(available("True", 1)),
			want: []metav1.Condition{available("False", 9)},
		},
		"our last write failed": {
			present: []metav1.Condition{available("False", 1)}, entry: entry(available("True", 9)),
			want: []metav1.Condition{available("True", 9)},
		},
		"our last write, in the same second as the previous one, failed": {
			present: []metav1.Condition{available("False", 1)}, entry: entry(available("True", 1)),
			want: []metav1.Condition{available("True", 1)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, previous(ownConditions(tc.present, true), tc.entry)); diff != "" {
				t.Errorf("previous (-want +got):\n%s", diff)
			}
		})
	}
}
