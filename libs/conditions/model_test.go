package conditions_test

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// The model: every combination of the values below is folded and checked against the
// invariants. It is small, but has each case that a rule tells apart.
var (
	modelUnits = map[string][]contract.Unit{
		"none":              nil,
		"full":              {unit("web")},
		"short":             {unit("web", available(1))},
		"surplus":           {unit("web", available(3))},
		"zero":              {unit("web", zero)},
		"absent":            {unit("web", absent)},
		"absent zero":       {unit("web", zero, absent)},
		"unrouted":          {unit("web", func(u *contract.Unit) { u.Routed = false })},
		"unobserved":        {unit("web", func(u *contract.Unit) { u.Observed = false })},
		"updating":          {unit("web", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 })},
		"stalled":           {unit("web", available(1), func(u *contract.Unit) { u.Stalled = true })},
		"crash":             {unit("web", available(1), failing(contract.FailureCrashLoop, 1))},
		"corpse":            {unit("web", failing(contract.FailurePodFailed, 1))},
		"node lost":         {unit("web", available(1), failing(contract.FailureNodeLost, 1))},
		"terminating":       {unit("web", zero, func(u *contract.Unit) { u.Terminating = 1 })},
		"incoming":          {unit("g2", role(contract.Incoming))},
		"blue and green":    {unit("g1"), unit("g2", role(contract.Incoming), available(0))},
		"draining":          {unit("g2"), unit("g1", role(contract.Outgoing))},
		"drained":           {unit("g2"), unit("g1", role(contract.Outgoing), absent)},
		"short and crash":   {unit("web", available(1)), unit("worker", failing(contract.FailureCrashLoop, 1))},
		"full and zero":     {unit("web"), unit("worker", zero)},
		"negative":          {unit("web", func(u *contract.Unit) { u.Desired, u.Current, u.Updated, u.Available = -1, -2, -3, -4 })},
		"a role from later": {unit("web", role("shadow"))},
	}
	modelGenerations = [][2]int64{{1, 1}, {2, 1}, {2, 2}, {2, 0}, {3, 3}} // read and applied; the object is at 2
	modelReconciles  = []contract.Reconcile{
		{Outcome: contract.Succeeded}, {Outcome: contract.Failed}, {Outcome: contract.Failed, Terminal: true},
	}
	modelJobs     = []contract.JobState{"", contract.JobRunning, contract.JobFailed, "Dreaming"}
	modelIntents  = []contract.Intent{{}, {Paused: true}, {Stopped: true}, {Paused: true, Stopped: true}}
	modelMemories = []conditions.Memory{
		{},
		{UID: "uid-1", Settled: 2},
		{UID: "uid-1", Settled: 2, BadSince: ago(time.Minute)},
		{UID: "uid-1", Settled: 2, BadSince: ago(time.Hour)},
		{UID: "uid-1", Degraded: true},
		{UID: "uid-1", Degraded: true, GoodSince: ago(10 * time.Second)},
		{UID: "uid-1", Degraded: true, GoodSince: ago(-time.Hour)},
		{UID: "another", Degraded: true, Settled: 7},
	}
	modelPrevious = [][]metav1.Condition{
		nil,
		conditions.Fold(conditions.Input{Observation: healthy(), Generation: 2, Now: start.Add(-time.Hour), WithReady: true}).Conditions,
		conditions.Fold(conditions.Input{Observation: crashing, Generation: 2, Now: start.Add(-time.Hour), WithReady: true}).Conditions,
	}
)

func ago(d time.Duration) *time.Time {
	at := start.Add(-d)
	return &at
}

// everyInput calls f with each input of the model.
func everyInput(f func(conditions.Input)) int {
	n := 0
	for _, us := range modelUnits {
		for _, g := range modelGenerations {
			for _, reconcile := range modelReconciles {
				for _, state := range modelJobs {
					for _, intent := range modelIntents {
						o := healthy(units(us...))
						o.Object.Generation, o.ObservedGeneration = g[0], g[1]
						o.Reconcile, o.Intent = reconcile, intent
						if state != "" {
							job(state)(o)
						}
						n += aroundObservation(o, f)
					}
				}
			}
		}
	}
	return n
}

func aroundObservation(o *contract.Observation, f func(conditions.Input)) int {
	n := 0
	for _, freshness := range []conditions.Freshness{conditions.Fresh, conditions.ObserverStale, conditions.NeverObserved} {
		for _, memory := range modelMemories {
			for p, previous := range modelPrevious {
				if freshness != conditions.Fresh && (memory.UID != "" || o.Reconcile.Terminal) {
					continue // what a silent observer said last does not count, and its memory is handed through
				}
				if p != 1 && memory.UID == "uid-1" {
					continue // the previous conditions only stand in for a memory
				}
				n++
				f(conditions.Input{
					Observation: o, Generation: 2, Deleting: p == 2 && memory.Settled == 0, Freshness: freshness,
					Now: start, Previous: previous, Memory: memory, WithReady: true,
				})
			}
		}
	}
	return n
}

var reasonPattern = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`) // of metav1.Condition

func TestEveryInputHasOneSoundAnswer(t *testing.T) {
	known := map[string]bool{}
	for _, r := range conditions.Reasons() {
		known[r] = true
	}
	emitted := map[[2]string]bool{} // type and reason
	failures := 0
	n := everyInput(func(in conditions.Input) {
		if failures > 0 {
			return
		}
		r := conditions.Fold(in)
		for _, c := range r.Conditions {
			emitted[[2]string{c.Type, c.Reason}] = true
		}
		problems := slices.Concat(wellFormed(r, known), stable(in, r), exactDeadline(in, r), truthful(in, r))
		if len(problems) > 0 {
			failures++
			t.Errorf("%s\nin %+v\nof %+v\nout %+v", strings.Join(problems, "\n"), in, in.Observation, r)
		}
	})
	t.Logf("%d inputs, %d pairs of type and reason", n, len(emitted))
	wantDocumented(t, emitted)
}

// wellFormed: every type once, in order, and nothing that the API server would refuse.
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
		case c.Message == "" || len(c.Message) > conditions.MaxMessageBytes:
			problems = append(problems, fmt.Sprintf("%s has a message of %d bytes", c.Type, len(c.Message)))
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

// stable: folding the answer again at the same time changes nothing.
func stable(in conditions.Input, r conditions.Result) []string {
	in.Previous, in.Memory = r.Conditions, r.Memory
	if again := conditions.Fold(in); !reflect.DeepEqual(r, again) {
		return []string{"not idempotent:\n" + cmp.Diff(r, again)}
	}
	return nil
}

// exactDeadline: nothing changes by itself before Next, and something does at Next.
func exactDeadline(in conditions.Input, r conditions.Result) []string {
	in.Previous, in.Memory = r.Conditions, r.Memory
	if r.Next.IsZero() {
		in.Now = in.Now.Add(1000 * time.Hour)
		if !reflect.DeepEqual(r.Conditions, conditions.Fold(in).Conditions) {
			return []string{"changes by itself without a deadline"}
		}
		return nil
	}
	var problems []string
	if !r.Next.After(in.Now) {
		problems = append(problems, "the deadline has passed already")
	}
	in.Now = r.Next.Add(-time.Nanosecond)
	if !reflect.DeepEqual(r.Conditions, conditions.Fold(in).Conditions) {
		problems = append(problems, "changes before its deadline")
	}
	in.Now = r.Next
	if reflect.DeepEqual(r.Conditions, conditions.Fold(in).Conditions) {
		problems = append(problems, "does not change at its deadline")
	}
	return problems
}

// truthful: what may never be claimed.
func truthful(in conditions.Input, r conditions.Result) []string {
	o, says := in.Observation, map[string]metav1.ConditionStatus{}
	var problems []string
	for _, c := range r.Conditions {
		says[c.Type] = c.Status
		if before := find(in.Previous, c.Type); before.Status == c.Status && !before.LastTransitionTime.Equal(&c.LastTransitionTime) {
			problems = append(problems, c.Type+" moved its transition time without a transition")
		}
		covers := o.ObservedGeneration
		if c.Type == conditions.TypePaused {
			covers = o.Object.Generation
		}
		if c.ObservedGeneration > covers {
			problems = append(problems, c.Type+" claims a generation that was not observed")
		}
		if in.Freshness != conditions.Fresh && c.Status != metav1.ConditionUnknown {
			problems = append(problems, c.Type+" is certain about a silent observer")
		}
	}
	if in.Freshness != conditions.Fresh {
		return problems
	}
	never := func(claim bool, what string) {
		if claim {
			problems = append(problems, what)
		}
	}
	yes := metav1.ConditionTrue
	never(says["Available"] == yes && len(o.Units) == 0, "available without anything")
	never(says["Stopped"] == yes && !o.Intent.Stopped, "stopped without being asked")
	never((says["Paused"] == yes) != o.Intent.Paused, "paused is not what was asked")
	never(says["Upgradable"] == yes && (says["Progressing"] == yes || says["Degraded"] == yes || o.Intent.Paused), "upgradable while not steady")
	never(says["Ready"] == yes && (says["Available"] != yes || says["Degraded"] == yes), "ready without being available and healthy")
	never(says["Degraded"] == metav1.ConditionFalse && o.ObservedGeneration == 0, "healthy before anything was applied")
	never(says["Progressing"] == metav1.ConditionFalse && o.Object.Generation < in.Generation && !o.Intent.Paused, "settled on a spec that was not read")
	for _, u := range o.Units {
		never(says["Stopped"] == yes && u.Current+u.Terminating > 0, "stopped with pods left")
		never(says["Available"] == yes && u.Role == contract.Serving && (!u.Present && u.Desired > 0), "available with an absent unit")
		never(says["Available"] == yes && u.Role == contract.Serving && u.Present && !u.Routed, "available although not routed")
		never(says["Available"] == yes && u.Role == contract.Serving && max(0, u.Available) < max(0, u.Desired), "available with too few replicas")
	}
	return problems
}

func find(cs []metav1.Condition, conditionType string) metav1.Condition {
	for _, c := range cs {
		if c.Type == conditionType {
			return c
		}
	}
	return metav1.Condition{}
}

func TestOrderDoesNotMatter(t *testing.T) {
	o := healthy(
		units(
			unit("web", available(1), failing(contract.FailureNodeLost, 1), failing(contract.FailureOOMKilled, 2)),
			unit("worker", available(0), failing(contract.FailureImagePull, 1)),
			unit("beat", func(u *contract.Unit) { u.Routed = false }),
			unit("g2", role(contract.Incoming)),
		),
		func(o *contract.Observation) {
			o.Jobs = []contract.Job{{Name: "clone", State: contract.JobRunning}, {Name: "migrate", State: contract.JobFailed}, {Name: "init", State: contract.JobFailed}}
			o.Dependencies = []contract.Dependency{{Kind: "A", Name: "x"}, {Kind: "B", Name: "y"}, {Kind: "C", Name: "z"}}
			o.UpgradeBlockers = []string{"one", "two", "three"}
		},
	)
	in := fresh(o)
	in.Previous = modelPrevious[1]
	want := conditions.Fold(in)
	permutations(len(o.Units), func(order []int) {
		shuffled := *o
		shuffled.Units = pick(o.Units, order)
		for i, u := range shuffled.Units {
			shuffled.Units[i].Failures = slices.Clone(u.Failures)
			slices.Reverse(shuffled.Units[i].Failures)
		}
		three := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return i == 3 })
		shuffled.Jobs, shuffled.Dependencies = pick(o.Jobs, three), pick(o.Dependencies, three)
		shuffled.UpgradeBlockers = pick(o.UpgradeBlockers, three)
		again := in
		again.Observation, again.Previous = &shuffled, slices.Clone(in.Previous)
		slices.Reverse(again.Previous)
		if diff := cmp.Diff(want, conditions.Fold(again)); diff != "" {
			t.Errorf("order %v (-want +got):\n%s", order, diff)
		}
	})
	if o.UpgradeBlockers[0] != "one" || o.Units[0].Failures[0].Class != contract.FailureNodeLost {
		t.Error("the observation was changed")
	}
}

func pick[T any](from []T, order []int) []T {
	out := make([]T, 0, len(order))
	for _, i := range order {
		out = append(out, from[i])
	}
	return out
}

func permutations(n int, f func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	var place func(int)
	place = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			place(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	place(0)
}

func TestTextsAreMadeFit(t *testing.T) {
	o := healthy(func(o *contract.Observation) {
		o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true, Message: "bad\x00\r\n\xff" + strings.Repeat("ä", 40000)}
	})
	r := conditions.Fold(fresh(o))
	c := full(t, r, conditions.TypeDegraded)
	if len(c.Message) > conditions.MaxMessageBytes || strings.ContainsAny(c.Message, "\x00\r\n") || strings.ToValidUTF8(c.Message, "") != c.Message {
		t.Errorf("message of %d bytes starts with %q", len(c.Message), c.Message[:60])
	}
	for _, e := range r.Evidence {
		if len(e) > 1024 {
			t.Errorf("evidence of %d bytes", len(e))
		}
	}
}

func TestEvidenceNamesPodsAndMessagesDoNot(t *testing.T) {
	r := conditions.Fold(fresh(crashing))
	want := []string{"web: containers crash again and again, 1 pods (pod-a, pod-b)"}
	if diff := cmp.Diff(want, r.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if m := full(t, r, conditions.TypeDegraded).Message; strings.Contains(m, "pod-a") {
		t.Errorf("message %q changes with every new pod", m)
	}
	var many []contract.Unit
	for i := range 30 {
		many = append(many, unit(fmt.Sprintf("u%02d", i), failing(contract.FailureCrashLoop, 1)))
	}
	if got := len(conditions.Fold(fresh(healthy(units(many...)))).Evidence); got != conditions.MaxEvidence {
		t.Errorf("%d pieces of evidence, want %d", got, conditions.MaxEvidence)
	}
}

func TestTheListOfReasonsIsSortedAndWithoutRepetition(t *testing.T) {
	rs := conditions.Reasons()
	if !slices.IsSorted(rs) || len(slices.Compact(slices.Clone(rs))) != len(rs) {
		t.Errorf("reasons are %v", rs)
	}
}
