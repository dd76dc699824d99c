package lifecycle_test

import (
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// TestSidecarsDelayNothing has Jobs that are active although their task is complete, since their sidecars still run.
func TestSidecarsDelayNothing(t *testing.T) {
	checkDecisions(t, map[string]decideCase{
		"the sidecars of a complete task do not delay the next one": {
			in: input(persisted(entry(taskComplete, "m1", "m1", 1), entry(taskRunning, "i1", "", 1)),
				job("migrate", lifecycle.Job{Checksum: "m1", Attempt: 1}), job("init", lifecycle.Job{Checksum: "i1", Attempt: 1})),
			want: outcome{Migrate: taskComplete, Init: taskRunning, Attempts: 1, Reason: "TaskInProgress"},
		},
		"the end of the sidecars of a deleted Job delays nothing": {
			in: input(persisted(entry(taskComplete, "m1", "m1", 1), entry(taskComplete, "i1", "i1", 1)), lastImage(image),
				job("init", lifecycle.Job{Checksum: "i1", Attempt: 1, Deleting: true, Podless: true})),
			want: outcome{Migrate: taskComplete, Init: taskComplete, Attempts: 1, Reason: "LifecycleComplete", Done: true},
		},
		"a Job of a permanent failure stays, although its pod is gone": {
			in:   input(persisted(entry(taskFailed, "m1", "", 3), nil), job("migrate", lifecycle.Job{Checksum: "m1", PodHash: "p1", Attempt: 3, Podless: true})),
			want: outcome{Migrate: taskFailed, Init: taskPending, Attempts: 3, Reason: "TaskFailed"},
		},
		"a Job of other inputs is deleted before": {
			in: input(persisted(entry(taskComplete, "m1", "m1", 1), entry(taskComplete, "i1", "i1", 1)), lastImage(image),
				job("init", lifecycle.Job{Checksum: "i2", Attempt: 1})),
			want: outcome{
				Migrate: taskComplete, Init: taskComplete, Attempts: 1, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "init", UID: "job-uid"}},
			},
		},
	})
}

// TestSuccessIsRecordedBeforeAPreflight edits the configuration while a migration runs. Its success is recorded before the
// preflight of the edit starts, since the Job fails at its deadline if a sidecar runs on.
func TestSuccessIsRecordedBeforeAPreflight(t *testing.T) {
	in := inputFor(installed(t), "x:2", "k1", "s1")
	in.Workloads = lifecycle.Workloads{} // nothing to drain
	for _, task := range []string{"preflight", "migrate"} {
		in = startTask(t, in)
		job, exists := in.Jobs[task]
		if !exists {
			t.Fatalf("other tasks started than %s: %v", task, in.Jobs)
		}
		job.State, job.FinishedAt = lifecycle.JobSucceeded, at(-1)
		in.Jobs[task] = job
	}
	in = inputFor(in, "x:2", "k1", "s2")
	d := lifecycle.Decide(in)
	if d.Status.Migrate.State != taskComplete {
		t.Errorf("migrate is %s, want %s", d.Status.Migrate.State, taskComplete)
	}
	if len(d.Actions) != 1 || d.Actions[0].Task != "preflight" {
		t.Errorf("actions %+v, want the start of the preflight", d.Actions)
	}
}
