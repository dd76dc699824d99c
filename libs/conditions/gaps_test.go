package conditions_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// What ADR027 and its first implementation leave open or get wrong, case by case, and
// the conditions: at once, and when a failure has lasted for its hold-down.
func TestCasesUndefinedByADR027(t *testing.T) {
	least := func(n int32) func(*contract.Unit) { return func(u *contract.Unit) { u.MinAvailable = &n } }
	pods := func(n int32) func(*contract.Unit) { return func(u *contract.Unit) { u.Current, u.Updated = n, n } }
	tests := map[string]struct {
		o           *contract.Observation
		first, then answers
	}{
		"too few, and no pod has failed: the ADR has no word for Degraded": {
			healthy(units(unit("web", available(1)))), answers{Degraded: "False/WithinTolerance"}, answers{Degraded: "True/InsufficientReplicas"},
		},
		"too many: no word for Degraded, and an outage for Available": {
			healthy(units(unit("web", available(3), pods(3)))), answers{Available: "True/AllComponentsReady", Degraded: "False/AsExpected"}, answers{Degraded: "False/AsExpected"},
		},
		"one pod failed and another starts: two words for Progressing": {
			healthy(units(unit("web", available(1), pods(2), failing(contract.FailurePodFailed, 1)))), answers{Progressing: "True/ReplicasMissing"}, answers{},
		},
		"no pods at all: none for Progressing": {
			healthy(units(unit("web", available(0), pods(0)))), answers{Progressing: "True/ReplicasMissing"}, answers{},
		},
		"the phase Unknown is dead: a lost node shows otherwise": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1)))),
			answers{Available: "Unknown/NodeUnreachable", Degraded: "False/WithinTolerance"},
			answers{Degraded: "True/NodeLost"},
		},
		"the phase Failed is nearly dead: a crash loop stays Running": {
			healthy(units(unit("web", available(1), failing(contract.FailureCrashLoop, 1)))), answers{Progressing: "False/Stalled", Degraded: "True/CrashLoop"}, answers{},
		},
		"an image that is not there stays Pending": {
			healthy(units(unit("web", available(1), failing(contract.FailureImagePull, 1)))), answers{Progressing: "False/Stalled", Degraded: "True/ImagePull"}, answers{},
		},
		"evicted corpses beside a full set": {
			healthy(units(unit("web", failing(contract.FailureEvicted, 3)))), answers{Progressing: "False/AsExpected", Degraded: "False/AsExpected"}, answers{Degraded: "False/AsExpected"},
		},
		"a roll-out that keeps everything available is invisible": {
			healthy(units(unit("web", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }))), answers{Available: "True/AllComponentsReady", Progressing: "True/RollingOut"}, answers{},
		},
		"an ordinary rolling update is an outage, unless the unit says how much is enough": {
			healthy(units(unit("web", available(1), least(1), func(u *contract.Unit) { u.Updated = 1 }))), answers{Available: "True/AllComponentsReady", Progressing: "True/RollingOut"}, answers{},
		},
		"stopped is available, since none equals none": {
			healthy(stopping, units(unit("web", zero))), answers{Available: "False/Stopped", Stopped: "True/Stopped", Degraded: "False/Stopped"}, answers{},
		},
		"stopped although an override keeps a pod": {
			healthy(stopping), answers{Available: "True/AllComponentsReady", Stopped: "False/Stopping"}, answers{Stopped: "False/Stopping"},
		},
		"paused and stopped exclude each other": {
			healthy(stopping, paused), answers{Paused: "True/ReconciliationPaused", Stopped: "Unknown/ReconciliationPaused"}, answers{},
		},
		"tasks are unknown": {
			healthy(job(contract.JobFailed)), answers{Progressing: "False/JobFailed", Degraded: "True/JobFailed"}, answers{},
		},
		"several workloads are not added up": {
			healthy(units(unit("web", available(3), pods(3)), unit("worker", available(1)))), answers{Available: "False/InsufficientReplicas"}, answers{},
		},
		"after an error everything keeps its last word": {
			healthy(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }, units(unit("web", available(1)))),
			answers{Available: "False/InsufficientReplicas"},
			answers{Degraded: "True/InsufficientReplicas"},
		},
		"nothing is declared, and all of it is available": {healthy(units()), answers{Available: "True/NoComponentsEnabled"}, answers{}},
		"a refused spec hides a loss of what runs": {
			healthy(held(conditions.ReasonAwaitingApproval), units(unit("web", available(1)))),
			answers{Available: "False/InsufficientReplicas", Degraded: "False/WithinTolerance"},
			answers{Degraded: "True/InsufficientReplicas"},
		},
		"scaled to zero is an outage for ever": {healthy(units(unit("web", zero))), answers{Available: "True/ScaledToZero"}, answers{}},
		"created while paused has no status at all": {
			healthy(paused, units(unit("web", absent)), func(o *contract.Observation) { o.ObservedGeneration = 0 }),
			answers{Paused: "True/ReconciliationPaused", Available: "False/InsufficientReplicas", Progressing: "False/ReconciliationPaused", Degraded: "False/ReconciliationPaused"},
			answers{},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHistory(t)
			h.fold(0, healthy())
			compare(t, tc.first, h.fold(0, tc.o))
			compare(t, tc.then, h.fold(conditions.MissingReplicasHold, tc.o))
		})
	}
}
