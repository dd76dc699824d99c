package standalone_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
)

// aggregator computes the conditions as the status aggregator does: with the State and the
// conditions of its last entry, decoded from JSON, merged with the conditions of the object.
type aggregator struct {
	*env
	memory, entry []byte
}

func (a *aggregator) write(cr *apitest.Ship, o contract.Observation) {
	a.Helper()
	var memory conditions.State
	var entry []metav1.Condition
	a.decode(a.memory, &memory)
	a.decode(a.entry, &entry)
	computed := conditions.Compute(conditions.Input{
		Observation: &o, Generation: cr.Generation, Deleting: cr.DeletionTimestamp != nil, Freshness: conditions.Fresh,
		Now: a.clock.Now(), Previous: latest(cr.Status.Conditions, entry), Memory: memory, WithReady: true,
	})
	a.memory, a.entry = a.encode(computed.Memory), a.encode(computed.Conditions)
	if _, err := ownedstatus.New(a.c, conditions.FieldManager).ApplyConditions(a.Context(), cr, computed.Conditions); err != nil {
		a.Fatal(err)
	}
}

// latest returns, for each type, the condition that changed last; within the same second, the entry's.
func latest(current, entry []metav1.Condition) []metav1.Condition {
	out := append([]metav1.Condition{}, entry...)
	for _, c := range current {
		at := -1
		for i := range out {
			if out[i].Type == c.Type {
				at = i
			}
		}
		switch {
		case at < 0:
			out = append(out, c)
		case out[at].LastTransitionTime.Before(&c.LastTransitionTime):
			out[at] = c
		}
	}
	return out
}

func (a *aggregator) encode(v any) []byte {
	a.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		a.Fatal(err)
	}
	return raw
}

func (a *aggregator) decode(raw []byte, v any) {
	a.Helper()
	if raw == nil {
		return
	}
	if err := json.Unmarshal(raw, v); err != nil {
		a.Fatal(err)
	}
}

// ensureShip creates a ship, or reads an existing one.
func (w *env) ensureShip(name string) *apitest.Ship {
	w.Helper()
	return apitest.Read(w.T, w.c.Client, &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}})
}

// generator generates the observations of an operator over time, the same for the same seed.
type generator struct {
	r    *rand.Rand
	last func(*contract.Observation)
}

func newGenerator(seed uint64) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 4))} // a history must be repeatable
}

// next returns the time until the next observation, and the observation.
func (l *generator) next() (time.Duration, func(*contract.Observation)) {
	pause := time.Duration(1+l.r.IntN(75)) * time.Second
	if l.last != nil && l.r.IntN(3) == 0 {
		return pause, l.last
	}
	n, failure, intent := int32(l.r.IntN(3)), l.r.IntN(6), l.r.IntN(12)
	l.last = func(o *contract.Observation) {
		u := &o.Units[0]
		u.Ready, u.Available = n, n
		switch failure {
		case 0:
			u.Failures = []contract.Failure{{Class: contract.FailureCrashLoop, Count: 1}}
		case 1:
			u.Failures = []contract.Failure{{Class: contract.FailureNodeLost, Count: 1}}
		case 2:
			o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Reason: "Conflict"}
		}
		o.Intent = contract.Intent{Paused: intent == 0, Stopped: intent == 1}
		if intent == 2 {
			o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobRunning}}
		}
	}
	return pause, l.last
}

func observed(cr *apitest.Ship, change func(*contract.Observation)) contract.Observation {
	o := observation(cr, 2)
	change(&o)
	return o
}

// A standalone operator and an aggregator compute exactly the same conditions from one
// history at every step, also after restarts of the aggregator.
func TestOperatorWritesSameConditionsAsAggregator(t *testing.T) {
	w := setUp(t)
	w.want(true)
	for seed := range uint64(3) {
		alone, with := fmt.Sprint("alone-", seed), fmt.Sprint("with-", seed)
		for _, name := range []string{alone, with} {
			apitest.Create(t, w.c, &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}})
		}
		r, a, l := w.reporter(contract.Superset), &aggregator{env: w}, newGenerator(seed)
		for i := range 40 {
			pause, change := l.next()
			compare := func(options ...cmp.Option) {
				t.Helper()
				cr := w.ensureShip(alone)
				if _, err := r.Report(t.Context(), cr, observed(cr, change)); err != nil {
					t.Fatal(err)
				}
				cr = w.ensureShip(with)
				a.write(cr, observed(cr, change))
				if diff := cmp.Diff(w.ensureShip(with).Status.Conditions, w.ensureShip(alone).Status.Conditions, options...); diff != "" {
					t.Fatalf("seed %d, step %d (-aggregator +operator):\n%s", seed, i, diff)
				}
			}
			w.clock.Step(pause)
			compare(cmpopts.IgnoreFields(metav1.Condition{}, "Reason", "Message", "ObservedGeneration")) // which the operator may write later
			w.clock.Step(coalesce.Interval)
			compare()
		}
	}
}

// The aggregator stops and starts repeatedly. At each handover the new writer publishes the
// conditions of the former one: a handover alone changes no status.
func TestHandoverChangesNoCondition(t *testing.T) {
	w := setUp(t)
	w.want(true)
	apitest.Create(t, w.c, w.ship())
	r, a, l := w.reporter(contract.Superset), &aggregator{env: w}, newGenerator(7)
	active := false
	report := func(change func(*contract.Observation)) {
		t.Helper()
		cr := w.read()
		o := observed(cr, change)
		if _, err := r.Report(t.Context(), cr, o); err != nil {
			t.Fatal(err)
		}
		if active {
			a.write(cr, o)
		}
	}
	failOver := func() {
		t.Helper()
		if active = !active; active {
			w.hold()
		} else {
			w.release()
		}
		w.want(!active)
	}
	for i := range 48 {
		pause, change := l.next()
		if active {
			w.advance(pause + standalone.StaleAfter) // it renews late, and the LeaseWatcher detects that
			w.want(true)
			w.hold()
			w.want(false)
		} else {
			w.clock.Step(pause)
		}
		report(change)
		if i%4 != 3 {
			continue
		}
		before := transitions(w.read())
		failOver()
		report(change)
		if diff := cmp.Diff(before, transitions(w.read())); diff != "" {
			t.Errorf("step %d, the aggregator works: %v (-before +after):\n%s", i, active, diff)
		}
	}
}

// transitions returns the parts of conditions that a handover must not change; reasons may differ.
func transitions(cr *apitest.Ship) map[string]string {
	out := map[string]string{}
	for _, c := range cr.Status.Conditions {
		out[c.Type] = fmt.Sprint(c.Status, " since ", c.LastTransitionTime.UTC().Format(time.RFC3339), " of ", c.ObservedGeneration)
	}
	return out
}

// After a quick handover in both directions an operator may still hold an old State, since it
// did not reconcile in between. The State is older than the object, and is ignored.
func TestReporterIgnoresOutdatedState(t *testing.T) {
	w := setUp(t)
	w.want(true)
	apitest.Create(t, w.c, w.ship())
	r, a := w.reporter(contract.Superset), &aggregator{env: w}
	w.report(r, 2)
	w.clock.Step(time.Minute)
	cr := w.read()
	a.write(cr, observation(cr, 1))
	w.clock.Step(conditions.MissingReplicasHold)
	cr = w.read()
	a.write(cr, observation(cr, 1))
	w.wantCondition(conditions.TypeDegraded, metav1.ConditionTrue)

	w.clock.Step(time.Second)
	w.report(r, 1)
	w.wantCondition(conditions.TypeDegraded, metav1.ConditionTrue)
}
