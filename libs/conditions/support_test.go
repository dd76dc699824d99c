package conditions_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// healthy returns an observation of an object at generation 2 whose one unit matches its spec.
func healthy(change ...func(*contract.Observation)) *contract.Observation {
	o := &contract.Observation{
		Object:             contract.Object{Namespace: "ns", Name: "main", UID: "uid-1", Generation: 2},
		Observer:           contract.Observer{Name: "superset-operator"},
		ObservedGeneration: 2,
		Reconcile:          contract.Reconcile{Outcome: contract.Succeeded},
		Units:              []contract.Unit{unit("web")},
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func unit(name string, change ...func(*contract.Unit)) contract.Unit {
	u := contract.Unit{
		Name: name, Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
		Desired: 2, Current: 2, Updated: 2, Ready: 2, Available: 2,
	}
	for _, c := range change {
		c(&u)
	}
	return u
}

func units(us ...contract.Unit) func(*contract.Observation) {
	return func(o *contract.Observation) { o.Units = us }
}

func available(n int32) func(*contract.Unit) {
	return func(u *contract.Unit) { u.Available, u.Ready = n, n }
}

func failing(class contract.FailureClass, n int32) func(*contract.Unit) {
	return func(u *contract.Unit) {
		u.Failures = append(u.Failures, contract.Failure{Class: class, Count: n, Examples: []string{"pod-b", "pod-a"}})
	}
}

func role(r contract.Role) func(*contract.Unit) {
	return func(u *contract.Unit) { u.Role = r }
}

func zero(u *contract.Unit) { u.Desired, u.Current, u.Updated, u.Ready, u.Available = 0, 0, 0, 0, 0 }

func absent(u *contract.Unit) {
	u.Present, u.Observed = false, false
	u.Current, u.Updated, u.Ready, u.Available = 0, 0, 0, 0
}

func paused(o *contract.Observation)   { o.Intent.Paused, o.Intent.PausedBy = true, "spec.suspend" }
func stopping(o *contract.Observation) { o.Intent.Stopped, o.Intent.StoppedBy = true, "the annotation" }

func job(state contract.JobState) func(*contract.Observation) {
	return func(o *contract.Observation) { o.Jobs = []contract.Job{{Name: "migrate", State: state}} }
}

// jobs takes pairs of a name and a state.
func jobs(pairs ...any) func(*contract.Observation) {
	return func(o *contract.Observation) {
		o.Jobs = nil
		for i := 0; i < len(pairs); i += 2 {
			o.Jobs = append(o.Jobs, contract.Job{Name: fmt.Sprint(pairs[i]), State: contract.JobState(fmt.Sprint(pairs[i+1]))})
		}
	}
}

// rejected returns a change of an observation to a rejected spec, with an older one in effect.
func rejected(reason string) func(*contract.Observation) {
	return func(o *contract.Observation) {
		o.ObservedGeneration = 1
		o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: reason, Message: "Change the spec."}
	}
}

// awaiting returns a change of an observation to a spec that waits, with an older one in effect.
func awaiting(reason string) func(*contract.Observation) {
	return func(o *contract.Observation) {
		o.ObservedGeneration = 1
		o.Reconcile = contract.Reconcile{Outcome: contract.Succeeded, Reason: reason, Message: "Approve it."}
	}
}

func fresh(o *contract.Observation) conditions.Input {
	return conditions.Input{Observation: o, Generation: 2, Now: start, WithReady: true}
}

// statusAndReason returns the condition of a type as "Status/Reason".
func statusAndReason(t *testing.T, r conditions.Result, conditionType string) string {
	t.Helper()
	c := conditionOf(t, r, conditionType)
	return string(c.Status) + "/" + c.Reason
}

func conditionOf(t *testing.T, r conditions.Result, conditionType string) metav1.Condition {
	t.Helper()
	for _, c := range r.Conditions {
		if c.Type == conditionType {
			return c
		}
	}
	t.Fatalf("no condition %s", conditionType)
	return metav1.Condition{}
}

// history computes the conditions of one object repeatedly, as its writer does, and
// encodes the State and the conditions as JSON in between.
type history struct {
	t          *testing.T
	now        time.Time
	memory     conditions.State
	conditions []metav1.Condition
}

func (h *history) compute(after time.Duration, o *contract.Observation, change ...func(*conditions.Input)) conditions.Result {
	h.t.Helper()
	h.now = h.now.Add(after)
	in := fresh(o)
	in.Now, in.Memory, in.Previous = h.now, h.memory, h.conditions
	for _, c := range change {
		c(&in)
	}
	r := conditions.Compute(in)
	h.memory, h.conditions = conditions.State{}, nil
	roundTrip(h.t, r.Memory, &h.memory)
	roundTrip(h.t, r.Conditions, &h.conditions)
	return r
}

func newHistory(t *testing.T) *history {
	t.Helper()
	return &history{t: t, now: start}
}

func roundTrip(t *testing.T, from, to any) {
	t.Helper()
	raw, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, to); err != nil {
		t.Fatal(err)
	}
}

// rawJSON is encoded JSON.
type rawJSON string

// MarshalJSON returns the text.
func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

func asJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
