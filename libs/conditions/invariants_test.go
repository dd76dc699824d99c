package conditions_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) // of metav1.Condition

// onePlural matches a plural after the number 1; "0 of 1 replicas" is right.
var onePlural = regexp.MustCompile(`(^|[^f] )1 (attempts|pods|replicas)\b`)

// wellFormed checks that every type occurs once, in order, and that the API server accepts the conditions.
func wellFormed(r conditions.Result, known map[string]bool) []string {
	var problems []string
	var types []string
	for _, c := range r.Conditions {
		types = append(types, c.Type)
		switch {
		case c.Status != metav1.ConditionTrue && c.Status != metav1.ConditionFalse && c.Status != metav1.ConditionUnknown:
			problems = append(problems, c.Type+" has status "+string(c.Status))
		case !known[c.Reason] || !reasonPattern.MatchString(c.Reason):
			problems = append(problems, c.Type+" has the reason "+c.Reason)
		case c.Message == "No rule applies.":
			problems = append(problems, c.Type+" has no rule for this")
		case c.Message == "" || len(c.Message) > conditions.MaxMessageBytes:
			problems = append(problems, fmt.Sprintf("%s has a message of %d bytes", c.Type, len(c.Message)))
		case onePlural.MatchString(c.Message):
			problems = append(problems, c.Type+" has the message "+c.Message)
		case c.LastTransitionTime.IsZero() || c.ObservedGeneration < 0 || c.ObservedGeneration > 2:
			problems = append(problems, fmt.Sprintf("%s has %s and generation %d", c.Type, c.LastTransitionTime, c.ObservedGeneration))
		}
	}
	want := []string{"Available", "Progressing", "Degraded", "Upgradable", "Paused", "Stopped", "Ready"}
	if !slices.Equal(want, types) {
		problems = append(problems, fmt.Sprintf("types are %v", types))
	}
	return problems
}

// idempotent checks that computing again at the same time from the result changes nothing.
func idempotent(in conditions.Input, r conditions.Result) []string {
	in.Previous, in.Memory = r.Conditions, r.Memory
	if second := conditions.Compute(in); !equalResults(r, second) {
		return []string{"not idempotent:\n" + cmp.Diff(r, second)}
	}
	return nil
}

func equalResults(a, b conditions.Result) bool {
	return slices.Equal(a.Conditions, b.Conditions) && slices.Equal(a.Evidence, b.Evidence) && a.Next.Equal(b.Next) && comparableState(a.Memory) == comparableState(b.Memory)
}

// comparableState returns a value of the State that == compares by times, not by their addresses.
func comparableState(m conditions.State) [2]any {
	var times [4]time.Time
	for i, at := range []*time.Time{m.BadSince, m.GoodSince, m.LastTransition, m.Flaps.ClearedAt} {
		if at != nil {
			times[i] = at.UTC()
		}
	}
	m.BadSince, m.GoodSince, m.LastTransition, m.Flaps.ClearedAt = nil, nil, nil, nil
	return [2]any{m, times}
}

// orderIndependent checks that the units in reverse order give the same result.
func orderIndependent(in conditions.Input, r conditions.Result) []string {
	if in.Observation == nil || len(in.Observation.Units) < 2 {
		return nil
	}
	o := *in.Observation
	o.Units = slices.Clone(o.Units)
	slices.Reverse(o.Units)
	in.Observation = &o
	if second := conditions.Compute(in); !equalResults(r, second) {
		return []string{"depends on the order of units:\n" + cmp.Diff(r, second)}
	}
	return nil
}

// dependencyIndependent checks that a failed dependency does not change the conditions of the object's own
// health, and that the evidence names it unless the object was stopped.
func dependencyIndependent(in conditions.Input, r conditions.Result) []string {
	if in.Freshness != conditions.Fresh || in.Observation == nil || len(in.Observation.Dependencies) == 0 {
		return nil
	}
	var problems []string
	stopped := find(r.Conditions, conditions.TypeStopped).Status == metav1.ConditionTrue
	named := slices.ContainsFunc(r.Evidence, func(e string) bool { return strings.HasPrefix(e, "Dependency: FireboltInstance i ") })
	if named == stopped {
		problems = append(problems, fmt.Sprintf("stopped %v, evidence %q", stopped, r.Evidence))
	}
	o := *in.Observation
	o.Dependencies = nil
	in.Observation = &o
	alone := conditions.Compute(in)
	for _, t := range []string{conditions.TypeAvailable, conditions.TypeProgressing, conditions.TypePaused, conditions.TypeStopped} {
		if find(r.Conditions, t) != find(alone.Conditions, t) {
			problems = append(problems, t+" depends on a dependency")
		}
	}
	return problems
}

// exactDeadline checks that the result is constant before Next and changes at Next.
func exactDeadline(in conditions.Input, r conditions.Result) []string {
	in.Previous, in.Memory = r.Conditions, r.Memory
	if r.Next.IsZero() {
		in.Now = in.Now.Add(1000 * time.Hour)
		if !slices.Equal(r.Conditions, conditions.Compute(in).Conditions) {
			return []string{"changes by itself without a deadline"}
		}
		return nil
	}
	var problems []string
	if !r.Next.After(in.Now) {
		problems = append(problems, "the deadline has passed already")
	}
	in.Now = r.Next.Add(-time.Nanosecond)
	if !slices.Equal(r.Conditions, conditions.Compute(in).Conditions) {
		problems = append(problems, "changes before its deadline")
	}
	in.Now = r.Next
	if slices.Equal(r.Conditions, conditions.Compute(in).Conditions) {
		problems = append(problems, "does not change at its deadline")
	}
	return problems
}

// consistent checks statements that must never be published.
func consistent(in conditions.Input, r conditions.Result) []string {
	o, statuses := in.Observation, map[string]metav1.ConditionStatus{}
	if o == nil {
		return nil
	}
	var problems []string
	for _, c := range r.Conditions {
		statuses[c.Type] = c.Status
		if before := find(in.Previous, c.Type); before.Status == c.Status && !before.LastTransitionTime.Equal(&c.LastTransitionTime) {
			problems = append(problems, c.Type+" moved its transition time without a transition")
		}
		observed := o.ObservedGeneration
		if c.Type == conditions.TypePaused || specIneffective(o) && c.Type != conditions.TypeAvailable && c.Type != conditions.TypeStopped && c.Type != conditions.TypeReady {
			observed = max(observed, o.Object.Generation)
		}
		if c.ObservedGeneration > observed {
			problems = append(problems, c.Type+" claims a generation that was not observed")
		}
		if in.Freshness != conditions.Fresh && c.Status != metav1.ConditionUnknown {
			problems = append(problems, c.Type+" is not Unknown for a stale observer")
		}
	}
	if in.Freshness != conditions.Fresh {
		return problems
	}
	report := func(violated bool, problem string) {
		if violated {
			problems = append(problems, problem)
		}
	}
	statusTrue := metav1.ConditionTrue
	report(statuses["Available"] == statusTrue && len(o.Units) == 0 && (o.ObservedGeneration < in.Generation || o.Reconcile.Outcome == contract.Failed), "available without known workloads")
	report(statuses["Progressing"] == statusTrue && specIneffective(o) && !runs(o) && !o.Intent.Paused && !o.Intent.Stopped && !in.Deleting && o.Object.Generation >= in.Generation && len(o.Units) == 0,
		"progressing although only a change of the spec helps")
	report(statuses["Degraded"] == metav1.ConditionFalse && (o.Reconcile.Terminal || failedPermanently(o)), "healthy although only a change of the spec helps")
	report(statuses["Stopped"] == statusTrue && !o.Intent.Stopped, "stopped although no stop is desired")
	report((statuses["Paused"] == statusTrue) != o.Intent.Paused, "paused differs from the desired state")
	report(statuses["Upgradable"] == statusTrue && (statuses["Progressing"] == statusTrue || statuses["Degraded"] == statusTrue || o.Intent.Paused), "upgradable while not steady")
	report(statuses["Ready"] == statusTrue && (statuses["Available"] != statusTrue || statuses["Degraded"] == statusTrue), "ready without being available and healthy")
	report(statuses["Degraded"] == metav1.ConditionFalse && o.ObservedGeneration == 0 && !o.Intent.Paused, "healthy before anything was applied")
	report(statuses["Progressing"] == metav1.ConditionFalse && o.Object.Generation < in.Generation && !o.Intent.Paused, "settled on a spec that was not observed")
	for _, u := range o.Units {
		report(statuses["Stopped"] == statusTrue && u.Current+u.Terminating > 0, "stopped with pods left")
		report(statuses["Available"] == statusTrue && u.Role == contract.Serving && (!u.Present && u.Desired > 0), "available with an absent unit")
		report(statuses["Available"] == statusTrue && u.Role == contract.Serving && u.Present && !u.Routed, "available although not routed")
		report(statuses["Available"] == statusTrue && u.Role == contract.Serving && max(0, u.Available) < required(u), "available with too few replicas")
	}
	return problems
}

// specIneffective reports whether the spec does not take effect by waiting alone.
func specIneffective(o *contract.Observation) bool {
	waiting := o.Reconcile.Outcome == contract.Succeeded && slices.Contains(conditions.WaitingReasons(), o.Reconcile.Reason)
	return o.Intent.Paused || o.Reconcile.Terminal || waiting || failedPermanently(o)
}

// failedPermanently reports whether a task has failed and none runs.
func failedPermanently(o *contract.Observation) bool {
	return !runs(o) && slices.ContainsFunc(o.Jobs, func(j contract.Job) bool { return j.State == contract.JobFailed })
}

func runs(o *contract.Observation) bool {
	active := []contract.JobState{contract.JobRunning}
	if !slices.ContainsFunc(o.Jobs, func(j contract.Job) bool { return j.State == contract.JobFailed }) {
		active = append(active, contract.JobPending)
	}
	return slices.ContainsFunc(o.Jobs, func(j contract.Job) bool { return slices.Contains(active, j.State) })
}

func required(u contract.Unit) int32 {
	if u.MinAvailable != nil {
		return *u.MinAvailable
	}
	return max(0, u.Desired)
}

func find(cs []metav1.Condition, conditionType string) metav1.Condition {
	for _, c := range cs {
		if c.Type == conditionType {
			return c
		}
	}
	return metav1.Condition{}
}
