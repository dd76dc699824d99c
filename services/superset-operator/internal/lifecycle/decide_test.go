package lifecycle_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// outcome is the expected result of a case.
type outcome struct {
	Migrate, Init v1alpha1.TaskState
	Attempts      int32
	Reason        string
	Done          bool
	Actions       []lifecycle.Action
	NextIn        time.Duration
}

// Short names of the task states.
const (
	taskPending  = v1alpha1.TaskPending
	taskRunning  = v1alpha1.TaskRunning
	taskComplete = v1alpha1.TaskComplete
	taskFailed   = v1alpha1.TaskFailed
)

type decideCase struct {
	in   lifecycle.Input
	want outcome
}

func checkDecisions(t *testing.T, cases map[string]decideCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, summary(lifecycle.Decide(tc.in))); diff != "" {
				t.Errorf("decision differs (-want +got):\n%s", diff)
			}
		})
	}
}

// finished returns the Job of an attempt that ended four seconds ago.
func finished(state lifecycle.JobState, attempt int32) lifecycle.Job {
	return lifecycle.Job{Checksum: "m1", Attempt: attempt, State: state, FinishedAt: at(-4), Message: "BackoffLimitExceeded"}
}

func TestDecideRunsTasksInOrder(t *testing.T) {
	checkDecisions(t, map[string]decideCase{
		"a new Superset counts its first attempt, then creates the Job": {
			in: input(),
			want: outcome{
				Migrate: taskRunning, Init: taskPending, Attempts: 1, Reason: "TaskInProgress",
				Actions: []lifecycle.Action{{Verb: lifecycle.Create, Task: "migrate", Attempt: 1}},
			},
		},
		"a counted attempt without a Job creates it and is not counted again": {
			in: input(persisted(entry(taskRunning, "m1", "", 1), nil)),
			want: outcome{
				Migrate: taskRunning, Init: taskPending, Attempts: 1, Reason: "TaskInProgress",
				Actions: []lifecycle.Action{{Verb: lifecycle.Create, Task: "migrate", Attempt: 1, Repeated: true}},
			},
		},
		"a running Job is awaited": {
			in:   input(persisted(entry(taskRunning, "m1", "", 1), nil), job("migrate", lifecycle.Job{Checksum: "m1", Attempt: 1})),
			want: outcome{Migrate: taskRunning, Init: taskPending, Attempts: 1, Reason: "TaskInProgress"},
		},
		"the completion of a task and the start of the next are one write": {
			in: input(persisted(entry(taskRunning, "m1", "", 1), nil), job("migrate", finished(lifecycle.JobSucceeded, 1))),
			want: outcome{
				Migrate: taskComplete, Init: taskRunning, Attempts: 1, Reason: "TaskInProgress",
				Actions: []lifecycle.Action{{Verb: lifecycle.Create, Task: "init", Attempt: 1}},
			},
		},
		"a completed task is not run again": {
			in:   input(persisted(entry(taskComplete, "m1", "m1", 1), entry(taskComplete, "i1", "i1", 1)), lastImage(image)),
			want: outcome{Migrate: taskComplete, Init: taskComplete, Attempts: 1, Reason: "LifecycleComplete", Done: true},
		},
		"succeeded Jobs are deleted once all tasks are complete": {
			in: input(persisted(entry(taskComplete, "m1", "m1", 1), entry(taskComplete, "i1", "i1", 1)), lastImage(image),
				job("migrate", finished(lifecycle.JobSucceeded, 1))),
			want: outcome{
				Migrate: taskComplete, Init: taskComplete, Attempts: 1, Reason: "LifecycleComplete", Done: true,
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
	})
}

func TestDecideRetriesFailedTask(t *testing.T) {
	checkDecisions(t, map[string]decideCase{
		"a first failure waits ten seconds from its end": {
			in:   input(persisted(entry(taskRunning, "m1", "", 1), nil), job("migrate", finished(lifecycle.JobFailed, 1))),
			want: outcome{Migrate: taskPending, Init: taskPending, Attempts: 1, Reason: "TaskRetrying", NextIn: 6 * time.Second},
		},
		"a second failure waits twice as long": {
			in:   input(persisted(entry(taskRunning, "m1", "", 2), nil), job("migrate", finished(lifecycle.JobFailed, 2))),
			want: outcome{Migrate: taskPending, Init: taskPending, Attempts: 2, Reason: "TaskRetrying", NextIn: 16 * time.Second},
		},
		"the failed Job is deleted when the next attempt is due": {
			in: input(persisted(waitingUntil(entry(taskPending, "m1", "", 1), -1), nil), job("migrate", finished(lifecycle.JobFailed, 1))),
			want: outcome{
				Migrate: taskPending, Init: taskPending, Attempts: 1, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"the next attempt starts when the failed Job no longer exists": {
			in: input(persisted(waitingUntil(entry(taskPending, "m1", "", 1), -1), nil)),
			want: outcome{
				Migrate: taskRunning, Init: taskPending, Attempts: 2, Reason: "TaskInProgress",
				Actions: []lifecycle.Action{{Verb: lifecycle.Create, Task: "migrate", Attempt: 2}},
			},
		},
		"a terminating Job is awaited": {
			in: input(persisted(waitingUntil(entry(taskPending, "m1", "", 1), -1), nil),
				job("migrate", lifecycle.Job{Checksum: "m1", Attempt: 1, State: lifecycle.JobFailed, Deleting: true})),
			want: outcome{Migrate: taskPending, Init: taskPending, Attempts: 1, Reason: "TaskWaiting"},
		},
		"a Job of an earlier attempt is deleted": {
			in: input(persisted(entry(taskRunning, "m1", "", 2), nil), job("migrate", finished(lifecycle.JobFailed, 1))),
			want: outcome{
				Migrate: taskRunning, Init: taskPending, Attempts: 2, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
	})
}

func TestDecidePermanentFailure(t *testing.T) {
	checkDecisions(t, map[string]decideCase{
		"the failure of the last attempt is permanent": {
			in:   input(persisted(entry(taskRunning, "m1", "", 3), nil), job("migrate", finished(lifecycle.JobFailed, 3))),
			want: outcome{Migrate: taskFailed, Init: taskPending, Attempts: 3, Reason: "TaskFailed", NextIn: time.Second},
		},
		"a permanent failure keeps its Job for inspection": {
			in:   input(persisted(entry(taskFailed, "m1", "", 3), nil), job("migrate", finished(lifecycle.JobFailed, 3))),
			want: outcome{Migrate: taskFailed, Init: taskPending, Attempts: 3, Reason: "TaskFailed"},
		},
		"a permanent failure with retention Delete deletes its Job": {
			in: input(persisted(entry(taskFailed, "m1", "", 3), nil), job("migrate", finished(lifecycle.JobFailed, 3)),
				func(in *lifecycle.Input) { in.Steps[0].Retention = v1alpha1.RetentionDelete }),
			want: outcome{
				Migrate: taskFailed, Init: taskPending, Attempts: 3, Reason: "TaskFailed",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"changed pod settings retry a permanent failure": {
			in: input(persisted(entry(taskFailed, "m1", "", 3), nil), job("migrate", finished(lifecycle.JobFailed, 3)),
				func(in *lifecycle.Input) { in.Steps[0].PodHash = "p2" }),
			want: outcome{
				Migrate: taskPending, Init: taskPending, Attempts: 0, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"a retried task does not count the old failure again": {
			in: input(persisted(entry(taskPending, "m1", "", 0), nil), job("migrate", finished(lifecycle.JobFailed, 3)),
				func(in *lifecycle.Input) { in.Steps[0].PodHash = "p2" }),
			want: outcome{
				Migrate: taskPending, Init: taskPending, Attempts: 0, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"more retries continue a permanent failure": {
			in: input(persisted(entry(taskFailed, "m1", "", 3), nil), job("migrate", finished(lifecycle.JobFailed, 3)),
				func(in *lifecycle.Input) { in.Steps[0].MaxRetries = 4 }),
			want: outcome{
				Migrate: taskPending, Init: taskPending, Attempts: 3, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
	})
}

func TestDecideChangedInputs(t *testing.T) {
	checkDecisions(t, map[string]decideCase{
		"another image runs all tasks again": {
			in: input(persisted(entry(taskComplete, "m0", "m0", 1), entry(taskComplete, "i0", "i0", 1)), lastImage("superset:0")),
			want: outcome{
				Migrate: taskRunning, Init: taskPending, Attempts: 1, Reason: "TaskInProgress",
				Actions: []lifecycle.Action{{Verb: lifecycle.Create, Task: "migrate", Attempt: 1}},
			},
		},
		"a Job of older inputs is replaced": {
			in: input(persisted(entry(taskRunning, "m0", "", 1), nil), job("migrate", lifecycle.Job{Checksum: "m0", Attempt: 1})),
			want: outcome{
				Migrate: taskPending, Init: taskPending, Attempts: 0, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"a Job of the same attempt with other inputs is replaced": {
			in: input(persisted(entry(taskRunning, "m1", "", 1), nil), job("migrate", lifecycle.Job{Checksum: "m0", Attempt: 1})),
			want: outcome{
				Migrate: taskRunning, Init: taskPending, Attempts: 1, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"a revert to the last completed inputs runs no task if none ran in between": {
			in:   input(persisted(entry(taskPending, "m2", "m1", 0), entry(taskPending, "i2", "i1", 0)), lastImage(image)),
			want: outcome{Migrate: taskComplete, Init: taskComplete, Attempts: 0, Reason: "LifecycleComplete", Done: true},
		},
		"a revert during another migration runs the old one again": {
			in: input(persisted(entry(taskRunning, "m2", "", 1), entry(taskPending, "i2", "i1", 0)), lastImage(image),
				job("migrate", lifecycle.Job{Checksum: "m2", Attempt: 1})),
			want: outcome{
				Migrate: taskPending, Init: taskComplete, Attempts: 0, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
		"a running Job of a completed task is deleted before components start": {
			in: input(persisted(entry(taskComplete, "m1", "m1", 1), entry(taskComplete, "i1", "i1", 1)), lastImage(image),
				job("init", lifecycle.Job{Checksum: "of an earlier operator"})),
			want: outcome{
				Migrate: taskComplete, Init: taskComplete, Attempts: 1, Reason: "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "init", UID: "job-uid"}},
			},
		},
	})
}

func TestDecideStoppedOrWithoutTasks(t *testing.T) {
	checkDecisions(t, map[string]decideCase{
		"a stopped Superset starts no task": {
			in:   input(func(in *lifecycle.Input) { in.Stopped = true }),
			want: outcome{Migrate: taskPending, Init: taskPending, Reason: "TaskWaiting"},
		},
		"a stopped Superset completes a running task": {
			in: input(func(in *lifecycle.Input) { in.Stopped = true }, persisted(entry(taskRunning, "m1", "", 1), nil),
				job("migrate", finished(lifecycle.JobSucceeded, 1))),
			want: outcome{Migrate: taskComplete, Init: taskPending, Attempts: 1, Reason: "TaskWaiting"},
		},
		"a Superset without tasks does not wait": {
			in:   input(func(in *lifecycle.Input) { in.Steps, in.Disabled = nil, true }),
			want: outcome{Reason: "LifecycleDisabled", Done: true},
		},
		"a running Job of a disabled task blocks components": {
			in: input(func(in *lifecycle.Input) { in.Steps, in.Disabled = nil, true },
				job("migrate", lifecycle.Job{Checksum: "m1", Attempt: 1})),
			want: outcome{
				Reason:  "TaskWaiting",
				Actions: []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}},
			},
		},
	})
}

func waitingUntil(s *v1alpha1.TaskRefStatus, seconds int) *v1alpha1.TaskRefStatus {
	s.NextAttemptAt = at(seconds)
	return s
}

func summary(d lifecycle.Decision) outcome {
	out := outcome{Reason: d.Condition.Reason, Done: d.Mode == lifecycle.Apply, Actions: d.Actions}
	if s := d.Status.Migrate; s != nil {
		out.Migrate, out.Attempts = s.State, s.Attempts
	}
	if s := d.Status.Init; s != nil {
		out.Init = s.State
	}
	if !d.Next.IsZero() {
		out.NextIn = d.Next.Sub(now)
	}
	return out
}

func TestDecideKeepsInput(t *testing.T) {
	in := input(persisted(entry(v1alpha1.TaskComplete, "m0", "m0", 1), nil), lastImage("superset:0"))
	before := in.Status.DeepCopy()
	lifecycle.Decide(in)
	if diff := cmp.Diff(before, in.Status); diff != "" {
		t.Errorf("the persisted state was changed:\n%s", diff)
	}
}

func TestBackoffDoublesUpToFiveMinutes(t *testing.T) {
	var got []time.Duration
	for failed := int32(1); failed <= 7; failed++ {
		got = append(got, lifecycle.Backoff(failed)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{10, 20, 40, 80, 160, 300, 300}, got); diff != "" {
		t.Errorf("seconds differ (-want +got):\n%s", diff)
	}
}
