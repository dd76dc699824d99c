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
