package conditions_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Each case is one that ADR027 or its first implementation leaves undefined or gets wrong,
// with the conditions at once and after the hold-down of the failure.
func TestCasesUndefinedByADR027(t *testing.T) {
	least := func(n int32) func(*contract.Unit) { return func(u *contract.Unit) { u.MinAvailable = &n } }
	pods := func(n int32) func(*contract.Unit) { return func(u *contract.Unit) { u.Current, u.Updated = n, n } }
	tests := map[string]struct {
		o           *contract.Observation
		first, then answers
	}{
		"too few pods without a failed one: Degraded is undefined in the ADR": {
			healthy(units(unit("web", available(1)))), answers{Degraded: "False/WithinTolerance"}, answers{Degraded: "True/InsufficientReplicas"},
		},
		"too many pods: Degraded is undefined, and Available is an outage": {
			healthy(units(unit("web", available(3), pods(3)))), answers{Available: "True/AllComponentsReady", Degraded: "False/AsExpected"}, answers{Degraded: "False/AsExpected"},
		},
		"one pod failed and another starts: two values of Progressing": {
			healthy(units(unit("web", available(1), pods(2), failing(contract.FailurePodFailed, 1)))), answers{Progressing: "True/ReplicasMissing"}, answers{},
		},
		"no pods: Progressing is undefined": {
			healthy(units(unit("web", available(0), pods(0)))), answers{Progressing: "True/ReplicasMissing"}, answers{},
		},
		"the phase Unknown is unused: a lost node shows otherwise": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1)))),
			answers{Available: "Unknown/NodeUnreachable", Degraded: "False/WithinTolerance"},
			answers{Degraded: "True/NodeLost"},
		},
		"the phase Failed is rarely used: a crash loop stays Running": {
			healthy(units(unit("web", available(1), failing(contract.FailureCrashLoop, 1)))), answers{Progressing: "False/Stalled", Degraded: "True/CrashLoop"}, answers{},
		},
		"a missing image stays Pending": {
			healthy(units(unit("web", available(1), failing(contract.FailureImagePull, 1)))), answers{Progressing: "False/Stalled", Degraded: "True/ImagePull"}, answers{},
		},
		"evicted pods in addition to all replicas": {
			healthy(units(unit("web", failing(contract.FailureEvicted, 3)))), answers{Progressing: "False/AsExpected", Degraded: "False/AsExpected"}, answers{Degraded: "False/AsExpected"},
		},
		"a rollout that keeps everything available is invisible": {
			healthy(units(unit("web", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }))), answers{Available: "True/AllComponentsReady", Progressing: "True/RollingOut"}, answers{},
		},
		"an ordinary rolling update is an outage without the unit's minAvailable": {
			healthy(units(unit("web", available(1), least(1), func(u *contract.Unit) { u.Updated = 1 }))), answers{Available: "True/AllComponentsReady", Progressing: "True/RollingOut"}, answers{},
		},
		"stopped is available, since 0 of 0 are ready": {
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
		"after an error all conditions keep their last status": {
			healthy(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }, units(unit("web", available(1)))),
			answers{Available: "False/InsufficientReplicas"},
			answers{Degraded: "True/InsufficientReplicas"},
		},
		"no components are available": {healthy(units()), answers{Available: "True/NoComponentsEnabled"}, answers{}},
		"a rejected spec hides a loss of running pods": {
			healthy(held(conditions.ReasonAwaitingApproval), units(unit("web", available(1)))),
			answers{Available: "False/InsufficientReplicas", Degraded: "False/WithinTolerance"},
			answers{Degraded: "True/InsufficientReplicas"},
		},
		"scaled to zero is a permanent outage": {healthy(units(unit("web", zero))), answers{Available: "True/ScaledToZero"}, answers{}},
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
