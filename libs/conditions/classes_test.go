package conditions_test

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// The classes of input are the combinations of the values below. A value represents all
// values that the rules do not distinguish from it. The ordinary run visits one class in
// stride, the run with the tag long each class.

// compares are pairs of available and desired replicas.
var compares = [][2]int32{{0, 2}, {1, 2}, {2, 2}, {3, 2}, {0, 0}, {1, 0}, {3, 1}}

// podSets are the sets of the ADR (none, healthy, failed, both, lost, lost and failed),
// and one for each way in which the rules treat a class of failures.
var podSets = [][]contract.FailureClass{
	nil,
	{contract.FailurePodFailed},
	{contract.FailureNodeLost},
	{contract.FailureNodeLost, contract.FailurePodFailed},
	{contract.FailureCrashLoop},
	{contract.FailureOOMKilled},
	{contract.FailureUnschedulable},
	{contract.FailureProbeFailing},
	{"Haunted"},
}

var rollouts = map[string]func(*contract.Unit){
	"done":       func(*contract.Unit) {},
	"updating":   func(u *contract.Unit) { u.Current, u.Updated = u.Current+1, u.Updated-1 },
	"unobserved": func(u *contract.Unit) { u.Observed = false },
	"stalled":    func(u *contract.Unit) { u.Stalled = true },
	"empty":      func(u *contract.Unit) { u.Current, u.Updated = 0, 0 },
	"leaving":    func(u *contract.Unit) { u.Terminating = 1 },
	"absent":     absent,
}

var roles = []func(*contract.Unit){
	func(*contract.Unit) {},
	func(u *contract.Unit) { u.Routed = false },
	role(contract.Incoming),
	role(contract.Outgoing),
	role("shadow"),
}

// unitSets returns the empty set, each class of one unit, and pairs of those that differ most.
func unitSets() [][]contract.Unit {
	sets := [][]contract.Unit{
		nil,
		{unit("web", func(u *contract.Unit) { u.Desired, u.Current, u.Updated, u.Available = -1, -2, -3, -4 })},
		{unit("web", available(1), func(u *contract.Unit) { u.MinAvailable = new(int32(1)) })},
	}
	for _, n := range compares {
		for _, failures := range podSets {
			for _, rollout := range slices.Sorted(maps.Keys(rollouts)) {
				for _, as := range roles {
					u := unit("web", func(u *contract.Unit) {
						u.Desired, u.Current, u.Updated, u.Ready, u.Available = n[1], max(n[0], n[1]), max(n[0], n[1]), n[0], n[0]
					})
					for _, f := range failures {
						failing(f, 1)(&u)
					}
					rollouts[rollout](&u)
					as(&u)
					sets = append(sets, []contract.Unit{u})
				}
			}
		}
	}
	return append(sets, pairs()...)
}

func pairs() [][]contract.Unit {
	distinct := []contract.Unit{
		unit("", zero), unit("", available(1)), unit(""), unit("", absent), unit("", available(3)),
		unit("", role(contract.Incoming), available(0)), unit("", role(contract.Outgoing)),
		unit("", available(1), failing(contract.FailureCrashLoop, 1)), unit("", available(1), failing(contract.FailureNodeLost, 1)),
		unit("", failing(contract.FailurePodFailed, 1)), unit("", func(u *contract.Unit) { u.Routed = false }),
		unit("", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }),
	}
	var out [][]contract.Unit
	for i, a := range distinct {
		for _, b := range distinct[i:] {
			a.Name, b.Name = "web", "worker"
			out = append(out, []contract.Unit{a, b})
		}
	}
	return out
}

var (
	generations = [][2]int64{{1, 1}, {2, 1}, {2, 2}, {2, 0}, {3, 3}} // read and applied; the object is at 2
	reconciles  = []contract.Reconcile{
		{Outcome: contract.Succeeded},
		{Outcome: contract.Failed},
		{Outcome: contract.Failed, Terminal: true},
		{Outcome: contract.Failed, Terminal: true, Reason: conditions.ReasonDowngradeBlocked, Message: "Take the image back."},
		{Outcome: contract.Failed, Reason: conditions.ReasonInvalidSpec}, // not permanently: an error like any other
		{Outcome: contract.Succeeded, Reason: conditions.ReasonAwaitingApproval, Message: "Approve it."},
		{Outcome: contract.Succeeded, Reason: conditions.ReasonInvalidSpec}, // holds nothing
	}
	jobSets = [][]any{
		nil,
		{"migrate", contract.JobRunning},
		{"migrate", contract.JobFailed},
		{"migrate", "Dreaming"},
		{"migrate", contract.JobPending},
		{"migrate", contract.JobFailed, "init", contract.JobPending},
		{"migrate", contract.JobFailed, "init", contract.JobRunning},
	}
	intents     = []contract.Intent{{}, {Paused: true}, {Stopped: true}, {Paused: true, Stopped: true}}
	freshnesses = []conditions.Freshness{conditions.Fresh, conditions.ObserverStale, conditions.NeverObserved}
	memories    = []conditions.State{
		{},
		{UID: "uid-1", Settled: 2},
		{UID: "uid-1", Settled: 2, BadSince: ago(time.Minute)},
		{UID: "uid-1", Settled: 2, BadSince: ago(time.Hour)},
		{UID: "uid-1", Settled: 2, BadSince: ago(time.Minute), GoodSince: ago(10 * time.Second)},
		{UID: "uid-1", Settled: 2, BadSince: ago(time.Hour), GoodSince: ago(time.Minute), Flaps: conditions.Flaps{Cause: "CrashLoop", Generation: 2, Count: 1, ClearedAt: ago(time.Minute)}},
		{UID: "uid-1", Degraded: true},
		{UID: "uid-1", Degraded: true, GoodSince: ago(10 * time.Second)},
		{UID: "uid-1", Degraded: true, GoodSince: ago(-time.Hour)},
		{UID: "uid-1", Degraded: true, GoodSince: ago(time.Minute), Flaps: conditions.Flaps{Cause: "CrashLoop", Generation: 2, Count: 2}},
		{UID: "uid-1", Degraded: true, GoodSince: ago(time.Minute), Flaps: conditions.Flaps{Cause: "InsufficientReplicas", Generation: 2, Count: conditions.FlapCount}},
		{UID: "uid-1", Degraded: true, BadSince: ago(time.Minute), Flaps: conditions.Flaps{Generation: 2, Count: conditions.FlapCount}},
		{UID: "uid-1", Degraded: true, BadSince: ago(time.Hour), Flaps: conditions.Flaps{Generation: 2, Count: conditions.FlapCount}},
		{UID: "uid-1", LastTransition: ago(2 * time.Hour), Settled: 1},
		{UID: "another", Degraded: true, Settled: 7},
	}
	// previous are the conditions of an object: none, healthy, degraded, flapping.
	previous = [][]metav1.Condition{
		nil,
		conditions.Compute(conditions.Input{Observation: healthy(), Generation: 2, Now: start.Add(-time.Hour), WithReady: true}).Conditions,
		conditions.Compute(conditions.Input{Observation: crashing, Generation: 2, Now: start.Add(-time.Hour), WithReady: true}).Conditions,
		conditions.Compute(conditions.Input{
			Observation: crashing, Generation: 2, Now: start.Add(-time.Hour), WithReady: true,
			Memory: conditions.State{UID: "uid-1", Degraded: true, GoodSince: ago(time.Hour), Flaps: conditions.Flaps{Generation: 2, Count: conditions.FlapCount}},
		}).Conditions,
	}
)

func ago(d time.Duration) *time.Time {
	at := start.Add(-d)
	return &at
}

// forEachInput calls f with the classes of input of one of several parts, until f returns
// false. It cycles through the states and previous conditions, so that each class of
// observation is combined with all of them. It returns the number of visited classes and
// of all classes.
func forEachInput(part, parts int, f func(conditions.Input) bool) (visited, all int) {
	sets := unitSets()
	sizes := []int{2, len(freshnesses), 2, len(intents), len(jobSets), len(reconciles), len(generations), len(sets)}
	all = 1
	for _, n := range sizes {
		all *= n
	}
	for i := part * stride; i < all; i += parts * stride {
		at := i
		var pick [8]int
		for k, n := range sizes {
			pick[k], at = at%n, at/n
		}
		in := conditions.Input{
			Generation: 2, Now: start, WithReady: true,
			Deleting: pick[0] == 1, Freshness: freshnesses[pick[1]],
			Memory: memories[visited%len(memories)], Previous: previous[visited/len(memories)%len(previous)],
		}
		o := healthy(units(sets[pick[7]]...))
		o.Object.Generation, o.ObservedGeneration = generations[pick[6]][0], generations[pick[6]][1]
		o.Reconcile, o.Intent = reconciles[pick[5]], intents[pick[3]]
		jobs(jobSets[pick[4]]...)(o)
		if pick[2] == 1 {
			o.Dependencies = []contract.Dependency{{Kind: "FireboltInstance", Name: "i", Message: "It starts."}}
		}
		in.Observation = o
		visited++
		if !f(in) {
			break
		}
	}
	return visited, all
}
