package conditions_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// gap is a case that ADR027 or its first implementation leaves undefined or gets wrong,
// with the conditions at once and after the hold-down of the failure.
type gap struct {
	o           *contract.Observation
	first, then statuses
}

func TestCasesUndefinedByADR027(t *testing.T) {
	for _, gaps := range []map[string]gap{podGaps(), rolloutAndIntentGaps(), objectGaps()} {
		for name, tc := range gaps {
			t.Run(name, func(t *testing.T) {
				h := newHistory(t)
				h.compute(0, healthy())
				compare(t, tc.first, h.compute(0, tc.o))
				compare(t, tc.then, h.compute(conditions.MissingReplicasHold, tc.o))
			})
		}
	}
}

func pods(n int32) func(*contract.Unit) {
	return func(u *contract.Unit) { u.Current, u.Updated = n, n }
}

// podGaps returns gaps in the number and the phases of the pods of one workload.
func podGaps() map[string]gap {
	return map[string]gap{
		"too few pods without a failed one: Degraded is undefined in the ADR": {
			healthy(units(unit("web", available(1)))), statuses{Degraded: "False/WithinTolerance"}, statuses{Degraded: "True/InsufficientReplicas"},
		},
		"too many pods: Degraded is undefined, and Available is an outage": {
			healthy(units(unit("web", available(3), pods(3)))), statuses{Available: "True/AllComponentsReady", Degraded: "False/AsExpected"}, statuses{Degraded: "False/AsExpected"},
		},
		"one pod failed and another starts: two values of Progressing": {
			healthy(units(unit("web", available(1), pods(2), failing(contract.FailurePodFailed, 1)))), statuses{Progressing: "True/ReplicasMissing"}, statuses{},
		},
		"no pods: Progressing is undefined": {
			healthy(units(unit("web", available(0), pods(0)))), statuses{Progressing: "True/ReplicasMissing"}, statuses{},
		},
		"the phase Unknown is unused: a lost node shows otherwise": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1)))),
			statuses{Available: "Unknown/NodeUnreachable", Degraded: "False/WithinTolerance"},
			statuses{Degraded: "True/NodeLost"},
		},
		"the phase Failed is rarely used: a crash loop stays Running": {
			healthy(units(unit("web", available(1), failing(contract.FailureCrashLoop, 1)))), statuses{Progressing: "False/Stalled", Degraded: "True/CrashLoop"}, statuses{},
		},
		"a missing image stays Pending": {
			healthy(units(unit("web", available(1), failing(contract.FailureImagePull, 1)))), statuses{Progressing: "False/Stalled", Degraded: "True/ImagePull"}, statuses{},
		},
		"evicted pods in addition to all replicas": {
			healthy(units(unit("web", failing(contract.FailureEvicted, 3)))), statuses{Progressing: "False/AsExpected", Degraded: "False/AsExpected"}, statuses{Degraded: "False/AsExpected"},
		},
	}
}

// rolloutAndIntentGaps returns gaps in rollouts, stops and pauses.
func rolloutAndIntentGaps() map[string]gap {
	minAvailable := func(n int32) func(*contract.Unit) { return func(u *contract.Unit) { u.MinAvailable = &n } }
	return map[string]gap{
		"a rollout that keeps everything available is invisible": {
			healthy(units(unit("web", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }))), statuses{Available: "True/AllComponentsReady", Progressing: "True/RollingOut"}, statuses{},
		},
		"an ordinary rolling update is an outage without the unit's minAvailable": {
			healthy(units(unit("web", available(1), minAvailable(1), func(u *contract.Unit) { u.Updated = 1 }))), statuses{Available: "True/AllComponentsReady", Progressing: "True/RollingOut"}, statuses{},
		},
		"stopped is available, since 0 of 0 are ready": {
			healthy(stopping, units(unit("web", zero))), statuses{Available: "False/Stopped", Stopped: "True/Stopped", Degraded: "False/Stopped"}, statuses{},
		},
		"stopped although an override keeps a pod": {
			healthy(stopping), statuses{Available: "True/AllComponentsReady", Stopped: "False/Stopping"}, statuses{Stopped: "False/Stopping"},
		},
		"paused and stopped exclude each other": {
			healthy(stopping, paused), statuses{Paused: "True/ReconciliationPaused", Stopped: "Unknown/ReconciliationPaused"}, statuses{},
		},
	}
}

// objectGaps returns gaps in the spec, the tasks and all workloads of an object.
func objectGaps() map[string]gap {
	return map[string]gap{
		"tasks are unknown": {
			healthy(job(contract.JobFailed)), statuses{Progressing: "False/JobFailed", Degraded: "True/JobFailed"}, statuses{},
		},
		"several workloads are not added up": {
			healthy(units(unit("web", available(3), pods(3)), unit("worker", available(1)))), statuses{Available: "False/InsufficientReplicas"}, statuses{},
		},
		"after an error all conditions keep their last status": {
			healthy(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }, units(unit("web", available(1)))),
			statuses{Available: "False/InsufficientReplicas"},
			statuses{Degraded: "True/InsufficientReplicas"},
		},
		"no components are available": {healthy(units()), statuses{Available: "True/NoComponentsEnabled"}, statuses{}},
		"a rejected spec hides a loss of running pods": {
			healthy(awaiting(conditions.ReasonAwaitingApproval), units(unit("web", available(1)))),
			statuses{Available: "False/InsufficientReplicas", Degraded: "False/WithinTolerance"},
			statuses{Degraded: "True/InsufficientReplicas"},
		},
		"scaled to zero is a permanent outage": {healthy(units(unit("web", zero))), statuses{Available: "True/ScaledToZero"}, statuses{}},
		"created while paused has no status at all": {
			healthy(paused, units(unit("web", absent)), func(o *contract.Observation) { o.ObservedGeneration = 0 }),
			statuses{Paused: "True/ReconciliationPaused", Available: "False/InsufficientReplicas", Progressing: "False/ReconciliationPaused", Degraded: "False/ReconciliationPaused"},
			statuses{},
		},
	}
}
