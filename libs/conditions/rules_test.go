package conditions_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// statuses are the expected results of one call of Compute; an empty one is not compared.
type statuses struct {
	Available, Progressing, Degraded, Upgradable, Paused, Stopped, Ready string
}

var allGood = statuses{
	Available: "True/AllComponentsReady", Progressing: "False/AsExpected", Degraded: "False/AsExpected",
	Upgradable: "True/AsExpected", Paused: "False/NotPaused", Stopped: "False/Running", Ready: "True/AllComponentsReady",
}

func compare(t *testing.T, want statuses, r conditions.Result) {
	t.Helper()
	got := statuses{
		statusAndReason(t, r, conditions.TypeAvailable), statusAndReason(t, r, conditions.TypeProgressing), statusAndReason(t, r, conditions.TypeDegraded),
		statusAndReason(t, r, conditions.TypeUpgradable), statusAndReason(t, r, conditions.TypePaused), statusAndReason(t, r, conditions.TypeStopped),
		statusAndReason(t, r, conditions.TypeReady),
	}
	for w, g := range map[*string]*string{
		&want.Available: &got.Available, &want.Progressing: &got.Progressing, &want.Degraded: &got.Degraded,
		&want.Upgradable: &got.Upgradable, &want.Paused: &got.Paused, &want.Stopped: &got.Stopped, &want.Ready: &got.Ready,
	} {
		if *w == "" {
			*w = *g
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

func TestAvailable(t *testing.T) {
	unrouted := func(u *contract.Unit) { u.Routed = false }
	minAvailable := func(n int32) func(*contract.Unit) { return func(u *contract.Unit) { u.MinAvailable = &n } }
	tests := map[string]struct {
		o    *contract.Observation
		want string
	}{
		"all replicas available":                                  {healthy(), "True/AllComponentsReady"},
		"more replicas than desired":                              {healthy(units(unit("web", available(3)))), "True/AllComponentsReady"},
		"one missing replica":                                     {healthy(units(unit("web", available(1)))), "False/InsufficientReplicas"},
		"enough for minAvailable":                                 {healthy(units(unit("web", available(1), minAvailable(1)))), "True/AllComponentsReady"},
		"less than minAvailable, although fewer are desired":      {healthy(units(unit("web", zero, minAvailable(1)))), "False/InsufficientReplicas"},
		"an absent workload":                                      {healthy(units(unit("web"), unit("worker", absent))), "False/InsufficientReplicas"},
		"an absent workload with stale counts":                    {healthy(units(unit("web", func(u *contract.Unit) { u.Present = false }))), "False/InsufficientReplicas"},
		"no component is enabled":                                 {healthy(units()), "True/NoComponentsEnabled"},
		"no component is enabled, not applied yet":                {healthy(units(), func(o *contract.Observation) { o.ObservedGeneration = 1 }), "Unknown/NoWorkloads"},
		"the declared components could not be read":               {healthy(units(), func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }), "Unknown/NoWorkloads"},
		"nothing serving yet":                                     {healthy(units(unit("g1", role(contract.Incoming)))), "False/InsufficientReplicas"},
		"the next generation not ready":                           {healthy(units(unit("g1"), unit("g2", role(contract.Incoming), available(0)))), "True/AllComponentsReady"},
		"the last generation terminating":                         {healthy(units(unit("g2"), unit("g1", role(contract.Outgoing), available(0)))), "True/AllComponentsReady"},
		"the maintenance page selected":                           {healthy(units(unit("web", unrouted))), "False/NotRouted"},
		"the maintenance page selected, no pods behind it":        {healthy(units(unit("web", unrouted, available(0)))), "False/InsufficientReplicas"},
		"the maintenance page selected, scaled to zero behind it": {healthy(units(unit("web", unrouted, zero))), "False/NotRouted"},
		"scaled to zero":                                          {healthy(units(unit("web", zero))), "True/ScaledToZero"},
		"one of two is scaled to zero":                            {healthy(units(unit("web"), unit("worker", zero))), "True/AllComponentsReady"},
		"a failure of zero pods explains nothing": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1), failing(contract.FailureCrashLoop, 0)))), "Unknown/NodeUnreachable",
		},
		"a lost node explains all missing replicas":         {healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1)))), "Unknown/NodeUnreachable"},
		"a lost node explains half of the missing replicas": {healthy(units(unit("web", available(0), failing(contract.FailureNodeLost, 1)))), "False/InsufficientReplicas"},
		"a lost node is not the only cause": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1), failing(contract.FailureCrashLoop, 1)))),
			"False/InsufficientReplicas",
		},
		"one unit lost a node, another misses replicas": {
			healthy(units(unit("web", available(1), failing(contract.FailureNodeLost, 1)), unit("worker", available(0)))),
			"False/InsufficientReplicas",
		},
		"stopped":                                   {healthy(stopping, units(unit("web", zero))), "False/Stopped"},
		"stopping, the first unit stopped":          {healthy(stopping, units(unit("web", zero), unit("worker"))), "False/Stopped"},
		"stopping, all still serve":                 {healthy(stopping), "True/AllComponentsReady"},
		"stopped, nothing declared":                 {healthy(stopping, units()), "False/Stopped"},
		"paused while stopping, one unit available": {healthy(stopping, paused, units(unit("web"), unit("worker", zero))), "True/AllComponentsReady"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			compare(t, statuses{Available: tc.want}, conditions.Compute(fresh(tc.o)))
		})
	}
}

// degradedRow is an observation with its condition Degraded.
type degradedRow struct {
	o     *contract.Observation
	first string // at once
	later string // two minutes later
}

func TestDegradedAtOnceOrHeld(t *testing.T) {
	for _, rows := range []map[string]degradedRow{degradedByFailureClass(), degradedByObject()} {
		for name, tc := range rows {
			t.Run(name, func(t *testing.T) {
				h := newHistory(t)
				compare(t, statuses{Degraded: tc.first}, h.compute(0, tc.o))
				compare(t, statuses{Degraded: tc.later}, h.compute(conditions.MissingReplicasHold, tc.o))
			})
		}
	}
}

// degradedByFailureClass returns rows with one failed pod of each class, with and without missing replicas.
func degradedByFailureClass() map[string]degradedRow {
	short := func(class contract.FailureClass) *contract.Observation {
		return healthy(units(unit("web", available(1), failing(class, 1))))
	}
	full := func(class contract.FailureClass) *contract.Observation {
		return healthy(units(unit("web", failing(class, 1))))
	}
	return map[string]degradedRow{
		"a crash loop":                 {short(contract.FailureCrashLoop), "True/CrashLoop", "True/CrashLoop"},
		"a crash loop, yet available":  {full(contract.FailureCrashLoop), "True/CrashLoop", "True/CrashLoop"},
		"a missing image":              {short(contract.FailureImagePull), "True/ImagePull", "True/ImagePull"},
		"a container without config":   {short(contract.FailureConfigError), "True/ConfigError", "True/ConfigError"},
		"a failed pod":                 {short(contract.FailurePodFailed), "True/PodFailed", "True/PodFailed"},
		"an evicted pod":               {short(contract.FailureEvicted), "True/Evicted", "True/Evicted"},
		"a failed surplus pod":         {full(contract.FailurePodFailed), "False/AsExpected", "False/AsExpected"},
		"a lost node":                  {short(contract.FailureNodeLost), "False/WithinTolerance", "True/NodeLost"},
		"an unschedulable pod":         {short(contract.FailureUnschedulable), "False/WithinTolerance", "True/Unschedulable"},
		"out of memory":                {short(contract.FailureOOMKilled), "False/WithinTolerance", "True/OOMKilled"},
		"a pod that cannot be created": {short(contract.FailureCreateFailed), "False/WithinTolerance", "True/CreateFailed"},
		"an unknown class":             {short("Haunted"), "False/WithinTolerance", "True/UnknownFailure"},
		"probes of starting pods":      {short(contract.FailureProbeFailing), "False/AsExpected", "False/AsExpected"},
	}
}

// degradedByObject returns rows with other inputs: spec, tasks, rollouts and dependencies.
func degradedByObject() map[string]degradedRow {
	return map[string]degradedRow{
		"healthy":                     {healthy(), "False/AsExpected", "False/AsExpected"},
		"a failed task":               {healthy(job(contract.JobFailed)), "True/JobFailed", "True/JobFailed"},
		"a rollout past its deadline": {healthy(units(unit("web", func(u *contract.Unit) { u.Stalled = true }))), "True/Stalled", "True/Stalled"},
		"the outgoing unit crashes":   {healthy(units(unit("g2"), unit("g1", role(contract.Outgoing), failing(contract.FailureCrashLoop, 1)))), "False/AsExpected", "False/AsExpected"},
		"a rollout in progress":       {healthy(units(unit("web", available(0)))), "False/AsExpected", "False/AsExpected"},
		"a missing dependency": {healthy(func(o *contract.Observation) {
			o.Dependencies = []contract.Dependency{{Kind: "FireboltInstance", Name: "i"}}
		}), "False/WithinTolerance", "True/DependencyUnavailable"},
		"a reconcile error": {healthy(func(o *contract.Observation) {
			o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Reason: "Conflict"}
		}), "False/WithinTolerance", "True/ReconcileError"},
		"a terminal reconcile error": {healthy(func(o *contract.Observation) {
			o.Reconcile = contract.Reconcile{Outcome: contract.Failed, Terminal: true}
		}), "True/ReconcileError", "True/ReconcileError"},
		"a rejected spec": {healthy(rejected(conditions.ReasonInvalidSpec)), "True/InvalidSpec", "True/InvalidSpec"},
		"a waiting spec":  {healthy(awaiting(conditions.ReasonAwaitingApproval)), "False/AsExpected", "False/AsExpected"},
		"the serving unit is lost during a rollout": {
			healthy(units(unit("g1", available(0)), unit("g2", role(contract.Incoming), available(0)))), "False/WithinTolerance", "True/InsufficientReplicas",
		},
		"a stop that creates an empty unit": {
			healthy(stopping, units(unit("g1", available(0)), unit("g2", role(contract.Incoming), available(0)))), "False/Stopped", "False/Stopped",
		},
		"paused since creation": {
			healthy(paused, units(unit("web", absent)), func(o *contract.Observation) { o.ObservedGeneration = 0 }),
			"False/ReconciliationPaused", "False/ReconciliationPaused",
		},
		"stopped": {healthy(stopping, units(unit("web", zero))), "False/Stopped", "False/Stopped"},
		"a spec that was never applied": {
			healthy(func(o *contract.Observation) { o.ObservedGeneration = 0 }), "Unknown/SpecNotObserved", "Unknown/SpecNotObserved",
		},
		"failing before any spec was applied": {healthy(job(contract.JobFailed), func(o *contract.Observation) { o.ObservedGeneration = 0 }), "True/JobFailed", "True/JobFailed"},
	}
}

func TestIntents(t *testing.T) {
	terminatingPod := func(u *contract.Unit) { u.Terminating = 1 }
	tests := map[string]struct {
		o    *contract.Observation
		want statuses
	}{
		"none": {healthy(), allGood},
		"paused": {healthy(paused), statuses{
			Paused: "True/ReconciliationPaused", Stopped: "False/Running", Upgradable: "False/ReconciliationPaused",
		}},
		"paused before the newest spec was read": {
			healthy(paused, func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 1, 1 }),
			statuses{Paused: "True/ReconciliationPaused"},
		},
		"stopped":           {healthy(stopping, units(unit("web", zero))), statuses{Stopped: "True/Stopped", Upgradable: "False/Stopped"}},
		"stopping":          {healthy(stopping), statuses{Stopped: "False/Stopping", Upgradable: "False/Stopped"}},
		"last pod leaves":   {healthy(stopping, units(unit("web", zero, terminatingPod))), statuses{Stopped: "False/Stopping"}},
		"old unit leaves":   {healthy(stopping, units(unit("g2", zero), unit("g1", zero, terminatingPod, role(contract.Outgoing)))), statuses{Stopped: "False/Stopping"}},
		"a task still runs": {healthy(stopping, units(unit("web", zero)), job(contract.JobRunning)), statuses{Stopped: "False/Stopping"}},
		"paused and stopped, pods left": {
			healthy(stopping, paused), statuses{Stopped: "Unknown/ReconciliationPaused", Paused: "True/ReconciliationPaused", Available: "True/AllComponentsReady"},
		},
		"paused and stopped, no pods left": {healthy(stopping, paused, units(unit("web", zero))), statuses{Stopped: "True/Stopped"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			compare(t, tc.want, conditions.Compute(fresh(tc.o)))
		})
	}
}

func TestUpgradableAndReadyFollowOtherConditions(t *testing.T) {
	tests := map[string]struct {
		o    *contract.Observation
		want statuses
	}{
		"healthy":       {healthy(), allGood},
		"rolling out":   {healthy(units(unit("web", available(1)))), statuses{Upgradable: "False/RollingOut", Ready: "False/InsufficientReplicas"}},
		"a task runs":   {healthy(job(contract.JobRunning)), statuses{Upgradable: "False/JobRunning", Ready: "True/AllComponentsReady"}},
		"degraded":      {healthy(units(unit("web", failing(contract.FailureCrashLoop, 1)))), statuses{Upgradable: "False/Degraded", Ready: "False/Degraded"}},
		"deleting":      {healthy(func(o *contract.Observation) { o.Deleting = true }), statuses{Upgradable: "False/Deleting"}},
		"held failure":  {healthy(func(o *contract.Observation) { o.Reconcile.Outcome = contract.Failed }), statuses{Upgradable: "False/ReconcileError", Ready: "True/AllComponentsReady"}},
		"rejected":      {healthy(rejected(conditions.ReasonInvalidSpec)), statuses{Upgradable: "False/Degraded", Ready: "False/Degraded"}},
		"waiting":       {healthy(awaiting(conditions.ReasonAwaitingApproval)), statuses{Upgradable: "False/AwaitingApproval", Ready: "True/AllComponentsReady"}},
		"a blocker":     {healthy(func(o *contract.Observation) { o.UpgradeBlockers = []string{"PDB"} }), statuses{Upgradable: "False/UpgradeBlocked"}},
		"no components": {healthy(units()), statuses{Ready: "True/NoComponentsEnabled"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			compare(t, tc.want, conditions.Compute(fresh(tc.o)))
		})
	}
}

func TestUnknownWithoutFreshObservation(t *testing.T) {
	notObserved := statuses{
		"Unknown/NotYetObserved", "Unknown/NotYetObserved", "Unknown/NotYetObserved", "Unknown/NotYetObserved",
		"Unknown/NotYetObserved", "Unknown/NotYetObserved", "Unknown/NotYetObserved",
	}
	stale := statuses{
		"Unknown/ObserverStale", "Unknown/ObserverStale", "Unknown/ObserverStale", "Unknown/ObserverStale",
		"Unknown/ObserverStale", "Unknown/ObserverStale", "Unknown/ObserverStale",
	}
	tests := map[string]struct {
		o         *contract.Observation
		freshness conditions.Freshness
		want      statuses
	}{
		"fresh":                              {healthy(), conditions.Fresh, allGood},
		"stale":                              {healthy(paused, stopping), conditions.ObserverStale, stale},
		"never observed":                     {nil, conditions.NeverObserved, notObserved},
		"fresh without an observation":       {nil, conditions.Fresh, notObserved},
		"stale without an observation":       {nil, conditions.ObserverStale, notObserved},
		"never observed with an observation": {healthy(), conditions.NeverObserved, notObserved},
		"an unknown freshness":               {healthy(), conditions.Freshness(42), stale},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := fresh(tc.o)
			in.Freshness = tc.freshness
			compare(t, tc.want, conditions.Compute(in))
		})
	}
}
