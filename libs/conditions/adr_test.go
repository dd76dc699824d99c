package conditions_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// cell is one state of one workload in the terms of ADR027 (available and desired replicas,
// the phases of its pods), in a situation that the ADR does not distinguish.
type cell struct {
	situation string
	desired   int32
	available int32
	failed    int32
	unknown   int32 // phase Unknown; today that is a node that cannot be reached
	healthy   int32
}

func (c cell) String() string {
	return fmt.Sprintf("%s: %d of %d available; %d healthy, %d failed, %d unknown",
		c.situation, c.available, c.desired, c.healthy, c.failed, c.unknown)
}

func (c cell) in(situations ...string) bool { return slices.Contains(situations, c.situation) }

func (c cell) equal() bool   { return c.available == c.desired }
func (c cell) below() bool   { return c.available < c.desired }
func (c cell) surplus() bool { return c.available > c.desired }

// Situations. In each, the unit was rolled out before and a failure has filled its
// hold-down, unless the name states otherwise.
const (
	steady         = "steady"
	recentFailure  = "a failure has only begun"
	rolling        = "a rollout is in progress"
	crashes        = "a container crashes in addition to the counted pods"
	stopped        = "a stop is requested"
	pauseRequested = "a pause is requested"
	unapplied      = "no spec was applied yet"
	staleOperator  = "the operator is stale"
	task           = "a task runs"
	failedTask     = "a task has failed"
	removal        = "the object is being deleted"
	maintenance    = "the maintenance page is up"
	dependency     = "a dependency is missing"
	quorum         = "one replica is enough"
)

var situations = []string{
	steady, recentFailure, rolling, crashes, stopped, pauseRequested, unapplied, staleOperator, task, failedTask, removal, maintenance, dependency, quorum,
}

// adr returns every status that a row of the ADR's table gives. None means that
// the ADR defines no status, two that it contradicts itself.
func adr(c cell) map[string][]metav1.ConditionStatus {
	var (
		statusTrue, statusFalse, statusUnknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown

		out = map[string][]metav1.ConditionStatus{}
		add = func(t string, s metav1.ConditionStatus, cond bool) {
			if cond {
				out[t] = append(out[t], s)
			}
		}
	)
	add("Available", statusTrue, c.equal())
	add("Available", statusFalse, !c.equal() && c.unknown == 0)
	add("Available", statusUnknown, !c.equal() && c.unknown > 0)
	add("Progressing", statusTrue, !c.equal() && c.healthy+c.unknown > 0)
	add("Progressing", statusFalse, c.equal() || c.failed > 0)
	add("Degraded", statusTrue, c.below() && c.unknown+c.failed > 0)
	add("Degraded", statusFalse, c.equal())
	add("Paused", statusTrue, c.in(pauseRequested))
	add("Paused", statusFalse, !c.in(pauseRequested))
	add("Stopped", statusTrue, c.in(stopped))
	add("Stopped", statusFalse, !c.in(stopped))
	return out
}

// compute computes the conditions of the same state.
func compute(c cell) conditions.Result {
	u := unit("web", available(c.available), func(u *contract.Unit) {
		u.Desired, u.Current, u.Updated = c.desired, c.healthy+c.unknown, c.healthy+c.unknown
		u.Observed, u.Routed = !c.in(rolling), !c.in(maintenance)
		if c.in(quorum) {
			u.MinAvailable = new(int32(1))
		}
		for class, n := range map[contract.FailureClass]int32{contract.FailurePodFailed: c.failed, contract.FailureNodeLost: c.unknown} {
			if n > 0 {
				u.Failures = append(u.Failures, contract.Failure{Class: class, Count: n})
			}
		}
		if c.in(crashes) {
			u.Failures = append(u.Failures, contract.Failure{Class: contract.FailureCrashLoop, Count: 1})
		}
	})
	o := healthy(units(u), func(o *contract.Observation) {
		o.Intent = contract.Intent{Paused: c.in(pauseRequested), Stopped: c.in(stopped)}
		o.Deleting = c.in(removal)
		switch c.situation {
		case unapplied:
			o.ObservedGeneration = 0
		case task:
			o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobRunning}}
		case failedTask:
			o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobFailed}}
		case dependency:
			o.Dependencies = []contract.Dependency{{Kind: "FireboltInstance", Name: "i"}}
		}
	})
	in := fresh(o)
	in.Memory = conditions.State{UID: "uid-1", Settled: 2, BadSince: ago(conditions.MissingReplicasHold)}
	if c.in(recentFailure) {
		in.Memory.BadSince = nil
	}
	if c.in(staleOperator) {
		in.Freshness = conditions.ObserverStale
	}
	return conditions.Compute(in)
}

// deviation is a documented difference from the ADR, in all cells that it covers.
type deviation struct {
	name, conditionType string
	adr                 []metav1.ConditionStatus
	computed            metav1.ConditionStatus
	covers              func(cell) bool
}

// deviations are the deviations that README.md lists with their reasons.
var deviations = []deviation{
	{"surplus", "Available", anyOf("False", "Unknown"), "True", func(c cell) bool { return c.surplus() && !c.in(staleOperator, maintenance) }},
	{"certain loss", "Available", anyOf("Unknown"), "False", func(c cell) bool {
		return c.below() && c.unknown > 0 && !c.in(staleOperator, stopped, quorum) && (c.failed > 0 || c.in(crashes) || c.available+c.unknown < c.desired)
	}},
	{"enough", "Available", anyOf("False", "Unknown"), "True", func(c cell) bool { return c.in(quorum) && c.available == 1 }},
	{"less than enough", "Available", anyOf("Unknown"), "False", func(c cell) bool {
		return c.in(quorum) && c.available == 0 && c.unknown > 0 && c.failed > 0
	}},
	{"not routed", "Available", anyOf("True", "Unknown"), "False", func(c cell) bool {
		return c.in(maintenance) && (c.equal() || c.surplus() && c.unknown > 0)
	}},
	{"stopped", "Available", anyOf("True"), "False", func(c cell) bool { return c.in(stopped) && c.equal() }},
	{"pods left", "Stopped", anyOf("True"), "False", func(c cell) bool {
		return c.in(stopped) && c.available+c.healthy+c.unknown > 0
	}},
	{"surplus to remove", "Progressing", anyOf("False"), "True", func(c cell) bool {
		unchanged := c.in(steady, recentFailure, pauseRequested, maintenance, dependency, quorum)
		return unchanged && (c.equal() && c.healthy+c.unknown > c.desired || c.surplus() && c.healthy+c.unknown == 0)
	}},
	{"rollout", "Progressing", anyOf("False"), "True", func(c cell) bool { return c.in(rolling) && !c.below() }},
	{"stop under way", "Progressing", anyOf("False"), "True", func(c cell) bool {
		return c.in(stopped) && c.available+c.healthy+c.unknown > 0
	}},
	{"task under way", "Progressing", anyOf("False"), "True", func(c cell) bool { return c.in(task) }},
	{"removal under way", "Progressing", anyOf("False"), "True", func(c cell) bool { return c.in(removal) }},
	{"spec not applied", "Progressing", anyOf("False"), "True", func(c cell) bool { return c.in(unapplied) }},
	{"stalled", "Progressing", anyOf("True"), "False", func(c cell) bool { return c.in(crashes, failedTask) }},
	{"failure with all replicas", "Degraded", anyOf("False"), "True", func(c cell) bool { return c.in(crashes, failedTask, dependency) }},
	{"hold-down", "Degraded", anyOf("True"), "False", func(c cell) bool { return c.in(recentFailure) && c.failed == 0 }},
	{"not applied yet", "Degraded", anyOf("False"), "Unknown", func(c cell) bool { return c.in(unapplied) }},
	{"stale", "any", anyOf("True", "False"), "Unknown", func(c cell) bool { return c.in(staleOperator) }},
}

func anyOf(s ...metav1.ConditionStatus) []metav1.ConditionStatus { return s }

// forEachCell calls f with each possible cell.
func forEachCell(f func(cell)) int {
	cells := 0
	for _, situation := range situations {
		for _, avail := range []int32{0, 1, 2, 3} {
			for failed := range int32(3) {
				for unknown := range int32(3) {
					for healthyPods := range int32(4) {
						// A failed or lost pod is not available, and an available pod is healthy.
						if healthyPods < avail && (avail <= 2 || healthyPods > 0) {
							continue
						}
						c := cell{situation: situation, desired: 2, available: avail, failed: failed, unknown: unknown, healthy: healthyPods}
						if situation == stopped {
							c.desired = 0
						}
						cells++
						f(c)
					}
				}
			}
		}
	}
	return cells
}

// In every cell for which the ADR defines exactly one status, Compute returns that status,
// or exactly one documented deviation covers the cell. A deviation covers only cells that
// differ.
func TestComputeMatchesADR027(t *testing.T) {
	used := map[string]int{}
	matching := 0
	n := forEachCell(func(c cell) {
		result := compute(c)
		for conditionType, statuses := range adr(c) {
			if len(statuses) != 1 {
				continue // a contradiction: any status is correct
			}
			got := conditionOf(t, result, conditionType)
			var names []string
			for _, d := range deviations {
				if (d.conditionType == conditionType || d.conditionType == "any") && d.covers(c) && slices.Contains(d.adr, statuses[0]) {
					names = append(names, d.name)
					if got.Status != d.computed {
						t.Errorf("%s: %s is %s (%s), deviation %q has %s", c, conditionType, got.Status, got.Reason, d.name, d.computed)
					}
				}
			}
			switch {
			case got.Status == statuses[0] && len(names) > 0:
				t.Errorf("%s: %s is %s as in the ADR, so %q is not a deviation", c, conditionType, got.Status, names)
			case got.Status != statuses[0] && len(names) != 1:
				t.Errorf("%s: %s is %s (%s), the ADR has %s; deviations %q", c, conditionType, got.Status, got.Reason, statuses[0], names)
			case len(names) == 1:
				used[names[0]]++
				used[names[0]+" for "+string(statuses[0])]++
			default:
				matching++
			}
		}
	})
	t.Logf("%d cells, %d results agree, deviations %v", n, matching, used)
	for _, d := range deviations {
		for _, s := range d.adr {
			if used[d.name+" for "+string(s)] == 0 {
				t.Errorf("the deviation %q from %s covers nothing", d.name, s)
			}
		}
	}
}

func TestDeviationsFromADR027ArePublished(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(raw), "| deviation |")
	var want, got []string
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]+) \| (\w+) \| ([^|]+) \| (\w+) \| ([^|]+) \|$`).FindAllStringSubmatch(table, -1) {
		got = append(got, strings.Join(row[1:5], " | "))
	}
	for _, d := range deviations {
		var statuses []string
		for _, s := range d.adr {
			statuses = append(statuses, string(s))
		}
		want = append(want, fmt.Sprintf("%s | %s | %s | %s", d.name, d.conditionType, strings.Join(statuses, ", "), d.computed))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("published deviations (-code +README):\n%s", diff)
	}
}
