package conditions_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// progressRow is an observation with its condition Progressing.
type progressRow struct {
	o    *contract.Observation
	want string
}

func TestProgressing(t *testing.T) {
	for _, rows := range []map[string]progressRow{specProgress(), taskProgress(), workloadProgress()} {
		for name, tc := range rows {
			t.Run(name, func(t *testing.T) {
				compare(t, statuses{Progressing: tc.want}, conditions.Compute(fresh(tc.o)))
			})
		}
	}
}

// specProgress returns the progress by generation, spec and intent.
func specProgress() map[string]progressRow {
	return map[string]progressRow{
		"steady":                          {healthy(), "False/AsExpected"},
		"deleting":                        {healthy(func(o *contract.Observation) { o.Deleting = true }), "True/Deleting"},
		"the latest spec is not observed": {healthy(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 1, 1 }), "True/SpecNotObserved"},
		"the latest spec is not applied":  {healthy(func(o *contract.Observation) { o.ObservedGeneration = 1 }), "True/SpecNotObserved"},
		"a stale cache":                   {healthy(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = 3, 3 }), "False/AsExpected"},
		"paused, latest spec not applied": {
			healthy(paused, func(o *contract.Observation) { o.ObservedGeneration = 1 }), "False/ReconciliationPaused",
		},
		"paused, all applied":                             {healthy(paused), "False/AsExpected"},
		"paused, pods come back":                          {healthy(paused, units(unit("web", available(1)))), "True/RollingOut"},
		"the spec is rejected":                            {healthy(rejected(conditions.ReasonDowngradeBlocked)), "False/DowngradeBlocked"},
		"an unknown reason":                               {healthy(rejected("Whim")), "False/ReconcileError"},
		"the spec waits for an approval":                  {healthy(awaiting(conditions.ReasonAwaitingApproval)), "False/AwaitingApproval"},
		"the spec waits for an approval during a rollout": {healthy(awaiting(conditions.ReasonAwaitingApproval), units(unit("web", available(1)))), "True/RollingOut"},
		"a rollout waits for a slot":                      {healthy(awaiting(conditions.ReasonRolloutThrottled)), "False/RolloutThrottled"},
		"an unknown reason of a success":                  {healthy(awaiting("Fine")), "True/SpecNotObserved"},
		"a terminal error without a reason": {healthy(func(o *contract.Observation) {
			o.ObservedGeneration, o.Reconcile = 1, contract.Reconcile{Outcome: contract.Failed, Terminal: true}
		}), "False/ReconcileError"},
		"stopping":                       {healthy(stopping), "True/Stopping"},
		"stopping, last pod terminating": {healthy(stopping, units(unit("web", zero, func(u *contract.Unit) { u.Terminating = 1 }))), "True/Stopping"},
		"stopped":                        {healthy(stopping, units(unit("web", zero))), "False/AsExpected"},
	}
}

func taskProgress() map[string]progressRow {
	return map[string]progressRow{
		"a task waits":   {healthy(job(contract.JobPending)), "True/JobRunning"},
		"a task runs":    {healthy(job(contract.JobRunning)), "True/JobRunning"},
		"a task is done": {healthy(job(contract.JobComplete)), "False/AsExpected"},
		"a task failed":  {healthy(job(contract.JobFailed)), "False/JobFailed"},
		"a task failed during a change": {
			healthy(job(contract.JobFailed), func(o *contract.Observation) { o.ObservedGeneration = 1 }), "False/JobFailed",
		},
		"a task waits behind one that failed": {
			healthy(jobs("migrate", contract.JobFailed, "init", contract.JobPending)), "False/JobFailed",
		},
		"a task runs after another one failed": {
			healthy(jobs("migrate", contract.JobFailed, "init", contract.JobRunning)), "True/JobRunning",
		},
	}
}

func workloadProgress() map[string]progressRow {
	return map[string]progressRow{
		"old pods are being replaced": {healthy(units(unit("web", func(u *contract.Unit) { u.Current, u.Updated = 3, 1 }))), "True/RollingOut"},
		"a workload is not observed by its controller": {
			healthy(units(unit("web", func(u *contract.Unit) { u.Observed = false }))), "True/RollingOut",
		},
		"a workload is about to be created": {healthy(units(unit("web", absent))), "True/RollingOut"},
		"the next generation starts":        {healthy(units(unit("g1"), unit("g2", role(contract.Incoming)))), "True/RollingOut"},
		"the last generation terminates":    {healthy(units(unit("g2"), unit("g1", role(contract.Outgoing)))), "True/RollingOut"},
		"the last generation is deleted":    {healthy(units(unit("g2"), unit("g1", role(contract.Outgoing), absent))), "False/AsExpected"},
		"too many replicas":                 {healthy(units(unit("web", available(3), func(u *contract.Unit) { u.Current, u.Updated = 3, 3 }))), "True/ScalingDown"},
		"an image cannot be pulled":         {healthy(units(unit("web", available(1), failing(contract.FailureImagePull, 1)))), "False/Stalled"},
		"a failure of zero pods":            {healthy(units(unit("web", available(1), failing(contract.FailureImagePull, 0)))), "True/RollingOut"},
		"a pod is unschedulable":            {healthy(units(unit("web", available(1), failing(contract.FailureUnschedulable, 1)))), "False/Stalled"},
		"the progress deadline is exceeded": {healthy(units(unit("web", available(1), func(u *contract.Unit) { u.Stalled = true }))), "False/Stalled"},
		"one unit stalled, one progressing": {
			healthy(units(unit("web", available(1), failing(contract.FailureCrashLoop, 1)), unit("worker", available(1)))), "True/RollingOut",
		},
		"all pods failed": {healthy(units(unit("web", available(0), failing(contract.FailurePodFailed, 2),
			func(u *contract.Unit) { u.Current = 0 }))), "False/Stalled"},
		"an evicted pod and one that starts": {healthy(units(unit("web", available(1), failing(contract.FailureEvicted, 1)))), "True/RollingOut"},
		"the next generation crashes": {
			healthy(units(unit("g1"), unit("g2", role(contract.Incoming), available(0), failing(contract.FailureCrashLoop, 2)))), "False/Stalled",
		},
	}
}

// A task whose pod cannot start still progresses: it is retried. The message names the cause.
func TestStalledTaskIsNamed(t *testing.T) {
	blocked := unit("migrate", role(contract.Incoming), available(0), func(u *contract.Unit) {
		u.Failures = []contract.Failure{{Class: contract.FailureCreateFailed, Count: 1, Message: "exceeded quota"}}
	})
	for name, tc := range map[string]struct {
		u    contract.Unit
		want string
	}{
		"its pod cannot be created": {blocked, "Waiting for migrate. migrate: pods cannot be created: exceeded quota"},
		"it starts":                 {unit("migrate", role(contract.Incoming), available(0)), "Waiting for migrate."},
		"a component cannot start":  {unit("web", available(0), failing(contract.FailureImagePull, 1)), "Waiting for migrate."},
	} {
		o := healthy(units(tc.u), func(o *contract.Observation) { o.Jobs = []contract.Job{{Name: "migrate", State: contract.JobRunning}} })
		c := meta.FindStatusCondition(conditions.Compute(fresh(o)).Conditions, conditions.TypeProgressing)
		if c.Status != metav1.ConditionTrue || c.Reason != conditions.ReasonJobRunning || c.Message != tc.want {
			t.Errorf("%s: Progressing is %s/%s %q, want %q", name, c.Status, c.Reason, c.Message, tc.want)
		}
	}
}
