package conditions_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// cell is one state of one workload as ADR027 sees it: how available replicas compare
// with desired ones, and the phases of its pods.
type cell struct {
	available int32 // of two desired
	failed    int32
	unknown   int32 // phase Unknown; today that is a node that cannot be reached
	healthy   int32
}

func (c cell) String() string {
	return fmt.Sprintf("%d of 2 available; %d healthy, %d failed, %d unknown", c.available, c.healthy, c.failed, c.unknown)
}

// adr answers with every status that a row of the ADR's table gives. None means that
// it says nothing, two that it contradicts itself.
func adr(c cell) map[string][]metav1.ConditionStatus {
	const d = 2
	var (
		yes, no, open = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown

		out = map[string][]metav1.ConditionStatus{}
		add = func(t string, s metav1.ConditionStatus, when bool) {
			if when {
				out[t] = append(out[t], s)
			}
		}
	)
	equal, below := c.available == d, c.available < d
	add("Available", yes, equal)
	add("Available", no, !equal && c.unknown == 0)
	add("Available", open, !equal && c.unknown > 0)
	add("Progressing", yes, !equal && c.healthy+c.unknown > 0)
	add("Progressing", no, equal || c.failed > 0)
	add("Degraded", yes, below && c.unknown+c.failed > 0)
	add("Degraded", no, equal)
	return out
}

// ours folds the same state of a workload that was rolled out before, once the
// hold-down of Degraded has passed.
func ours(c cell) conditions.Result {
	u := unit("web", available(c.available), func(u *contract.Unit) {
		u.Current, u.Updated = c.healthy+c.unknown, c.healthy+c.unknown
		if c.failed > 0 {
			u.Failures = append(u.Failures, contract.Failure{Class: contract.FailurePodFailed, Count: c.failed})
		}
		if c.unknown > 0 {
			u.Failures = append(u.Failures, contract.Failure{Class: contract.FailureNodeLost, Count: c.unknown})
		}
	})
	in := fresh(healthy(units(u)))
	in.Memory = conditions.Memory{UID: "uid-1", Settled: 2, BadSince: ago(conditions.MissingReplicasHold)}
	return conditions.Fold(in)
}

// deviation names the cells in which the ADR is defined and does not contradict itself,
// and we may still say something else, each with its reason.
func deviation(conditionType string, c cell) string {
	switch {
	case conditionType == "Available" && c.available > 2:
		return "more than was asked for is no outage"
	case conditionType == "Available" && c.unknown > 0 && c.failed > 0:
		return "a failed pod is certain to be missing, whatever became of the node of another"
	case conditionType == "Available" && c.unknown > 0 && c.available+c.unknown < 2:
		return "more is missing than lost nodes explain"
	case conditionType == "Progressing" && c.available == 2 && c.healthy+c.unknown > 2:
		return "more pods than asked for have still to go"
	case conditionType == "Progressing" && c.available > 2 && c.healthy == 0 && c.unknown == 0:
		return "more available replicas than asked for go away, whatever failed beside them"
	}
	return ""
}

func TestADR027CellByCell(t *testing.T) {
	cells := 0
	for _, avail := range []int32{0, 1, 2, 3} {
		for failed := range int32(3) {
			for unknown := range int32(3) {
				for sound := range int32(4) {
					// A pod that failed or is lost is not available, and what is available is healthy.
					c := cell{available: avail, failed: failed, unknown: unknown, healthy: sound}
					if sound < avail && (avail <= 2 || sound > 0) {
						continue
					}
					cells++
					compareWithADR(t, c)
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

func compareWithADR(t *testing.T, c cell) {
	t.Helper()
	result := ours(c)
	for conditionType, statuses := range adr(c) {
		got, why := full(t, result, conditionType), deviation(conditionType, c)
		switch {
		case len(statuses) != 1: // a contradiction: any answer will do, but there is one
		case why == "" && got.Status != statuses[0]:
			t.Errorf("%s: %s is %s (%s), the ADR says %s", c, conditionType, got.Status, got.Reason, statuses[0])
		}
	}
}

// Beyond the table of the ADR, which knows neither stop nor roll-outs nor what a pod
// waits for, the fold departs from its words in these published cases.
func TestPublishedDeviationsFromADR027(t *testing.T) {
	tests := map[string]struct {
		o    *contract.Observation
		want answers
		why  string
	}{
		"surplus replicas": {
			healthy(units(unit("web", available(3), func(u *contract.Unit) { u.Current, u.Updated = 3, 3 }))),
			answers{Available: "True/AllComponentsReady"},
			"the ADR calls this an outage",
		},
		"a roll-out that keeps all replicas available": {
			healthy(units(unit("web", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }))),
			answers{Progressing: "True/RollingOut"},
			"the ADR does not see it",
		},
		"a crash beside a full set": {
			healthy(units(unit("web", failing(contract.FailureCrashLoop, 1)))),
			answers{Degraded: "True/CrashLoop"},
			"the ADR sees no trouble",
		},
		"stopped": {
			healthy(stopping, units(unit("web", zero))),
			answers{Available: "False/Stopped"},
			"the rule says True, the ADR's own example False",
		},
		"a stop that is under way": {
			healthy(stopping), answers{Stopped: "False/Stopping"}, "the ADR reports the wish as the fact",
		},
		"replicas missing for a moment": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1)))),
			answers{Degraded: "False/WithinTolerance"},
			"held for two minutes",
		},
		"an image that is not there": {
			healthy(units(unit("web", available(1), failing(contract.FailureImagePull, 1)))),
			answers{Progressing: "False/Stalled", Degraded: "True/ImagePull"},
			"the pod's phase is Pending, so the ADR sees progress",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			compare(t, tc.want, conditions.Fold(fresh(tc.o)))
		})
	}
}
