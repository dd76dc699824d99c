package conditions_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestComputeIsValidForAllInputs(t *testing.T) {
	known := map[string]bool{}
	for _, r := range conditions.Reasons() {
		known[r] = true
	}
	const parts = 4
	var (
		mu      sync.Mutex
		emitted = map[[2]string]bool{} // type and reason
		visited int
	)
	t.Run("parts", func(t *testing.T) {
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				here := map[[2]string]bool{}
				n, all := forEachInput(part, parts, func(in conditions.Input) bool {
					r := conditions.Compute(in)
					for _, c := range r.Conditions {
						here[[2]string{c.Type, c.Reason}] = true
					}
					problems := slices.Concat(wellFormed(r, known), idempotent(in, r), exactDeadline(in, r), consistent(in, r), orderIndependent(in, r), dependencyIndependent(in, r))
					if len(problems) > 0 {
						t.Errorf("%s\nin %+v\nof %+v\nout %+v", strings.Join(problems, "\n"), in, in.Observation, r)
					}
					return len(problems) == 0
				})
				t.Logf("%d of %d classes of input", n, all)
				mu.Lock()
				defer mu.Unlock()
				visited += n
				maps.Copy(emitted, here)
			})
		}
	})
	t.Logf("%d classes of input, %d pairs of type and reason", visited, len(emitted))
	wantDocumented(t, emitted)
}

func TestComputeIgnoresInputOrder(t *testing.T) {
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
	in.Previous = previous[1]
	want := conditions.Compute(in)
	permutations(len(o.Units), func(order []int) {
		shuffled := *o
		shuffled.Units = reorder(o.Units, order)
		for i, u := range shuffled.Units {
			shuffled.Units[i].Failures = slices.Clone(u.Failures)
			slices.Reverse(shuffled.Units[i].Failures)
		}
		three := slices.DeleteFunc(slices.Clone(order), func(i int) bool { return i == 3 })
		shuffled.Jobs, shuffled.Dependencies = reorder(o.Jobs, three), reorder(o.Dependencies, three)
		shuffled.UpgradeBlockers = reorder(o.UpgradeBlockers, three)
		second := in
		second.Observation, second.Previous = &shuffled, slices.Clone(in.Previous)
		slices.Reverse(second.Previous)
		if diff := cmp.Diff(want, conditions.Compute(second)); diff != "" {
			t.Errorf("order %v (-want +got):\n%s", order, diff)
		}
	})
	if o.UpgradeBlockers[0] != "one" || o.Units[0].Failures[0].Class != contract.FailureNodeLost {
		t.Error("the observation was changed")
	}
}

func reorder[T any](from []T, order []int) []T {
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
	var permute func(int)
	permute = func(k int) {
		if k == n {
			f(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			permute(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	permute(0)
}

func TestComputeSanitizesTexts(t *testing.T) {
	o := healthy(func(o *contract.Observation) {
		o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true, Message: "bad\x00\r\n\xff" + strings.Repeat("ä", 40000)}
	})
	r := conditions.Compute(fresh(o))
	c := conditionOf(t, r, conditions.TypeDegraded)
	if len(c.Message) > conditions.MaxMessageBytes || strings.ContainsAny(c.Message, "\x00\r\n") || strings.ToValidUTF8(c.Message, "") != c.Message {
		t.Errorf("message of %d bytes starts with %q", len(c.Message), c.Message[:60])
	}
	for _, e := range r.Evidence {
		if len(e) > 1024 {
			t.Errorf("evidence of %d bytes", len(e))
		}
	}
}

func TestEvidenceNamesPodsButMessagesDoNot(t *testing.T) {
	r := conditions.Compute(fresh(crashing))
	want := []string{"web: containers are crash-looping, 1 pod (pod-a, pod-b)"}
	if diff := cmp.Diff(want, r.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if m := conditionOf(t, r, conditions.TypeDegraded).Message; strings.Contains(m, "pod-a") {
		t.Errorf("message %q changes with every new pod", m)
	}
	var many []contract.Unit
	for i := range 30 {
		many = append(many, unit(fmt.Sprintf("u%02d", i), failing(contract.FailureCrashLoop, 1)))
	}
	if got := len(conditions.Compute(fresh(healthy(units(many...)))).Evidence); got != conditions.MaxEvidence {
		t.Errorf("%d findings in the evidence, want %d", got, conditions.MaxEvidence)
	}
}

func TestReasonsAreSortedAndUnique(t *testing.T) {
	rs := conditions.Reasons()
	if !slices.IsSorted(rs) || len(slices.Compact(slices.Clone(rs))) != len(rs) {
		t.Errorf("reasons are %v", rs)
	}
}
