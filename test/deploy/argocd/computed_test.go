package argocd

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// history is an object whose conditions are computed repeatedly, like by their writer.
type history struct {
	now        time.Time
	memory     conditions.State
	conditions []metav1.Condition

	// The object in the API server.
	generation  int64
	annotations map[string]string
	suspend     bool
	deleting    bool
	phase       string
}

// newHistory returns an object of generation 2 that has been healthy for a while.
func newHistory() *history {
	s := &history{now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), generation: 2}
	s.see(observed())
	s.after(10 * time.Minute)
	return s
}

// see computes conditions from an observation, or without one if it is nil. change may modify the other inputs.
func (s *history) see(o *contract.Observation, change ...func(*conditions.Input)) {
	in := conditions.Input{
		Observation: o, Generation: s.generation, Deleting: s.deleting, Now: s.now,
		Previous: s.conditions, Memory: s.memory, WithReady: true,
	}
	for _, c := range change {
		c(&in)
	}
	r := conditions.Compute(in)
	s.conditions, s.memory = r.Conditions, r.Memory
}

func (s *history) after(d time.Duration) { s.now = s.now.Add(d) }

// observeFor computes conditions from the same observation repeatedly for the given time.
func (s *history) observeFor(d time.Duration, o *contract.Observation) {
	const step = 5 * time.Second
	s.see(o)
	for t := time.Duration(0); t < d; t += step {
		s.after(step)
		s.see(o)
	}
}

// object returns the object that Argo CD reads.
func (s *history) object() map[string]any {
	meta := map[string]any{"name": "main", "namespace": "ns", "generation": s.generation}
	if s.annotations != nil {
		meta["annotations"] = s.annotations
	}
	if s.deleting {
		meta["deletionTimestamp"] = s.now.Format(time.RFC3339)
	}
	spec := map[string]any{}
	if s.suspend {
		spec["suspend"] = true
	}
	return map[string]any{
		"apiVersion": "superset.apache.org/v1alpha1", "kind": "Superset", "metadata": meta, "spec": spec,
		"status": map[string]any{"phase": s.phase, "conditions": s.conditions},
	}
}

func (s *history) health(t *testing.T, script string) health {
	t.Helper()
	return run(t, script, s.object())
}

// observed returns an observation of a healthy object of generation 2 with one unit, with the changes.
func observed(change ...func(*contract.Observation)) *contract.Observation {
	o := &contract.Observation{
		Object:             contract.Object{Namespace: "ns", Name: "main", UID: "uid-1", Generation: 2},
		Observer:           contract.Observer{Name: "superset-operator"},
		ObservedGeneration: 2,
		Reconcile:          contract.Reconcile{Outcome: contract.Succeeded},
		Units: []contract.Unit{{
			Name: "web", Kind: "Deployment", Role: contract.Serving, Routed: true, Present: true, Observed: true,
			Desired: 2, Current: 2, Updated: 2, Ready: 2, Available: 2,
		}},
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func unit(change func(*contract.Unit)) func(*contract.Observation) {
	return func(o *contract.Observation) { change(&o.Units[0]) }
}

func generation(read, applied int64) func(*contract.Observation) {
	return func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = read, applied }
}

func available(n int32) func(*contract.Observation) {
	return unit(func(u *contract.Unit) { u.Ready, u.Available = n, n })
}

func updated(n int32) func(*contract.Observation) {
	return unit(func(u *contract.Unit) { u.Updated = n })
}

func failing(class contract.FailureClass) func(*contract.Observation) {
	return unit(func(u *contract.Unit) {
		u.Failures = []contract.Failure{{Class: class, Count: 1, Examples: []string{"p"}}}
	})
}

func job(state contract.JobState) func(*contract.Observation) {
	return func(o *contract.Observation) { o.Jobs = []contract.Job{{Name: "migrate", State: state}} }
}

func pausedBy(user string) func(*contract.Observation) {
	return func(o *contract.Observation) { o.Intent.Paused, o.Intent.PausedBy = true, user }
}

func stopped(o *contract.Observation) { o.Intent.Stopped, o.Intent.StoppedBy = true, "annotation" }

func none(o *contract.Observation) {
	unit(func(u *contract.Unit) { u.Desired, u.Current, u.Updated, u.Ready, u.Available = 0, 0, 0, 0, 0 })(o)
}

func refused(o *contract.Observation) {
	o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true, Reason: "InvalidSpec", Message: "no such version"}
}
