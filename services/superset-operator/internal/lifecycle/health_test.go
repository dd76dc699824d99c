package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// attempt returns an input with a running attempt of migrate and its Job.
func attempt(n int32, j lifecycle.Job, edit ...func(*lifecycle.Input)) lifecycle.Input {
	j.Checksum, j.Attempt = "m1", n
	s := entry(v1alpha1.TaskRunning, "m1", "", n)
	s.PodSpecHash = "p1"
	return input(append([]func(*lifecycle.Input){persisted(s, nil), job("migrate", j)}, edit...)...)
}

func otherPod(in *lifecycle.Input) { in.Steps[0].PodHash = "p2" }

func remove() []lifecycle.Action {
	return []lifecycle.Action{{Verb: lifecycle.Delete, Task: "migrate", UID: "job-uid"}}
}

func TestW22PodStartFailureIsReportedOnce(t *testing.T) {
	in := attempt(1, lifecycle.Job{StartFailure: `container "superset": ImagePullBackOff: no such image`})
	d := lifecycle.Decide(in)
	if d.Condition.Reason != "TaskCannotStart" || d.Status.Migrate.Message != in.Jobs["migrate"].StartFailure || reasons(d) != "TaskCannotStart" || !d.Events[0].Warning {
		t.Errorf("%+v, %+v, events %+v", d.Condition, d.Status.Migrate, d.Events)
	}
	if c := condition(d.Status.Migrate); c.Reason != "TaskCannotStart" || c.Message != d.Condition.Message {
		t.Errorf("condition %+v", c)
	}
	if len(d.Actions) > 0 || d.Mode != lifecycle.Wait {
		t.Errorf("%s, %v", d.Mode, d.Actions)
	}
	in.Status = d.Status
	if again := lifecycle.Decide(in); len(again.Events) > 0 || !cmp.Equal(d.Status, again.Status) {
		t.Errorf("again: events %q", reasons(again))
	}
	in.Jobs["migrate"] = lifecycle.Job{UID: "job-uid", Checksum: "m1", Attempt: 1, PodHash: "p1"}
	if d := lifecycle.Decide(in); d.Condition.Reason != "TaskInProgress" || d.Status.Migrate.Message != "" {
		t.Errorf("after the start: %+v, %+v", d.Condition, d.Status.Migrate)
	}
}

// TestRecreatedJobHasNoFormerStartFailure deletes the Job of a pod that cannot start, as a user does after removing the cause.
func TestRecreatedJobHasNoFormerStartFailure(t *testing.T) {
	in := attempt(1, lifecycle.Job{StartFailure: "pod unschedulable: no node"})
	in.Status, in.Jobs = lifecycle.Decide(in).Status, nil
	d := lifecycle.Decide(in)
	if len(d.Actions) != 1 || !d.Actions[0].Repeated || d.Status.Migrate.Message != "" {
		t.Errorf("actions %+v, message %q", d.Actions, d.Status.Migrate.Message)
	}
	in.Status = d.Status
	in.Jobs = map[string]lifecycle.Job{"migrate": {UID: "second", Checksum: "m1", Attempt: 1, PodHash: "p1", Podless: true}}
	if d := lifecycle.Decide(in); len(d.Events) > 0 || d.Condition.Reason != "TaskInProgress" {
		t.Errorf("events %+v, condition %+v", d.Events, d.Condition)
	}
}

// TestTimeoutOfPodThatCannotStartHasItsCause fails an attempt at its deadline, when the Job controller has already deleted
// the pod that could not start.
func TestTimeoutOfPodThatCannotStartHasItsCause(t *testing.T) {
	in := attempt(1, lifecycle.Job{PodHash: "p1", StartFailure: "pod unschedulable: no node"})
	for _, next := range []lifecycle.Job{
		{Podless: true},
		{State: lifecycle.JobFailed, FinishedAt: at(-4), Message: "DeadlineExceeded: too long"},
	} {
		in.Status = lifecycle.Decide(in).Status
		next.UID, next.Checksum, next.Attempt, next.PodHash = "job-uid", "m1", 1, "p1"
		in.Jobs["migrate"] = next
	}
	d := lifecycle.Decide(in)
	want := "DeadlineExceeded: too long; its pod could not start: pod unschedulable: no node"
	if d.Status.Migrate.Message != want || !strings.Contains(d.Condition.Message, want) {
		t.Errorf("message %q, condition %q, want %q", d.Status.Migrate.Message, d.Condition.Message, want)
	}
	in.Status, in.Jobs = d.Status, nil
	in.Now = d.Status.Migrate.NextAttemptAt.Time
	in.Status = lifecycle.Decide(in).Status
	in.Jobs = map[string]lifecycle.Job{"migrate": {
		UID: "job-uid", Checksum: "m1", Attempt: 2, PodHash: "p1", State: lifecycle.JobFailed, FinishedAt: &metav1.Time{Time: in.Now}, Message: "another",
	}}
	if d := lifecycle.Decide(in); d.Status.Migrate.Message != "another" {
		t.Errorf("message of attempt 2: %q", d.Status.Migrate.Message)
	}
}

func TestPermanentFailureCountsAttempts(t *testing.T) {
	for attempts, want := range map[int32]string{
		1: "Task migrate failed permanently after 1 attempt: No disk.",
		2: "Task migrate failed permanently after 2 attempts: No disk.",
	} {
		in := attempt(attempts, lifecycle.Job{State: lifecycle.JobFailed, FinishedAt: at(-4), Message: "No disk"},
			func(in *lifecycle.Input) { in.Steps[0].MaxRetries = attempts })
		d := lifecycle.Decide(in)
		if d.Condition.Message != want || reasons(d) != "TaskFailed" || d.Events[0].Message != want {
			t.Errorf("condition %q, events %+v, want %q", d.Condition.Message, d.Events, want)
		}
	}
}

func TestTaskStartFailureKeepsAttempt(t *testing.T) {
	in := attempt(2, lifecycle.Job{StartFailure: "pod unschedulable: no node"}, otherPod)
	d := lifecycle.Decide(in)
	if diff := cmp.Diff(remove(), d.Actions); diff != "" || reasons(d) != "TaskRecovering" || d.Events[0].Warning {
		t.Errorf("events %q, actions (-want +got):\n%s", reasons(d), diff)
	}
	in.Status, in.Jobs = d.Status, nil
	d = lifecycle.Decide(in)
	want := []lifecycle.Action{{Verb: lifecycle.Create, Task: "migrate", Attempt: 2}}
	if diff := cmp.Diff(want, d.Actions); diff != "" || d.Status.Migrate.PodSpecHash != "p2" {
		t.Errorf("entry %+v, actions (-want +got):\n%s", d.Status.Migrate, diff)
	}
}

func TestRunningTaskIgnoresChangedPodSettings(t *testing.T) {
	if d := lifecycle.Decide(attempt(1, lifecycle.Job{}, otherPod)); len(d.Actions) > 0 || d.Condition.Reason != "TaskInProgress" {
		t.Errorf("%+v, %v", d.Condition, d.Actions)
	}
}

// TestRunningJobKeepsItsImage: the checksum of a Job covers its image, so another one comes from a webhook or was the
// default of an earlier release.
func TestRunningJobKeepsItsImage(t *testing.T) {
	for _, state := range []lifecycle.JobState{lifecycle.JobActive, lifecycle.JobSucceeded} {
		d := lifecycle.Decide(attempt(1, lifecycle.Job{Image: "mirror.example/superset:1", State: state, FinishedAt: at(-9)}, otherPod))
		if strings.Contains(reasons(d), "TaskImageChanged") || state == lifecycle.JobActive && len(d.Actions) > 0 {
			t.Errorf("state %v: events %q, actions %v", state, reasons(d), d.Actions)
		}
	}
}

func TestFailureKeepsExitCodeAndLog(t *testing.T) {
	code := int32(3)
	failed := lifecycle.Job{State: lifecycle.JobFailed, FinishedAt: at(-4), Message: "BackoffLimitExceeded", ExitCode: &code, LogTail: "no such column"}
	for name, n := range map[string]int32{"before a retry": 1, "after the last attempt": 3} {
		t.Run(name, func(t *testing.T) {
			in := attempt(n, failed)
			d := lifecycle.Decide(in)
			s := d.Status.Migrate
			if s.Message != "BackoffLimitExceeded" || s.ExitCode == nil || *s.ExitCode != 3 || s.LogTail != "no such column" {
				t.Errorf("slot %+v", s)
			}
			in.Status = d.Status
			if again := lifecycle.Decide(in); len(again.Events) > 0 || !cmp.Equal(d.Status, again.Status) {
				t.Errorf("again: events %q", reasons(again))
			}
		})
	}
	in := attempt(1, failed)
	in.Status = lifecycle.Decide(in).Status
	in.Jobs, in.Now = nil, now.Add(time.Hour)
	in.Status = lifecycle.Decide(in).Status
	in.Jobs = map[string]lifecycle.Job{"migrate": {Checksum: "m1", PodHash: "p1", Attempt: 2, State: lifecycle.JobSucceeded, FinishedAt: at(0)}}
	if s := lifecycle.Decide(in).Status.Migrate; s.State != v1alpha1.TaskComplete || s.Attempts != 2 || s.ExitCode != nil || s.LogTail+s.Message != "" {
		t.Errorf("after a success: %+v", s)
	}
}

// TestLateExitCodeAndLogAreRecorded checks that the exit code and the log are recorded if the cache shows the failed
// Job before the failed pod.
func TestLateExitCodeAndLogAreRecorded(t *testing.T) {
	code := int32(3)
	late := lifecycle.Job{State: lifecycle.JobFailed, FinishedAt: at(-4), Message: "BackoffLimitExceeded"}
	full := late
	full.Message, full.ExitCode, full.LogTail = "exit code 3", &code, "no such column"
	for name, n := range map[string]int32{"before a retry": 1, "after the last attempt": 3} {
		t.Run(name, func(t *testing.T) {
			in := attempt(n, late)
			in.Status = lifecycle.Decide(in).Status
			in.Jobs = attempt(n, full).Jobs
			d := lifecycle.Decide(in)
			if s := d.Status.Migrate; s.ExitCode == nil || s.LogTail == "" || s.Message != full.Message {
				t.Errorf("the late exit code or log is lost: %+v", s)
			}
			if !strings.HasSuffix(d.Condition.Message, ": "+full.Message+".") {
				t.Errorf("message of the condition: %s", d.Condition.Message)
			}
			in.Status, in.Jobs = d.Status, attempt(n, late).Jobs
			if s := lifecycle.Decide(in).Status.Migrate; s.Message != full.Message {
				t.Errorf("the message is lost when the pod is deleted: %+v", s)
			}
		})
	}
}

// TestW22ChangedPodSettingsRestartFailedTask uses a failed task whose Job does not exist.
func TestW22ChangedPodSettingsRestartFailedTask(t *testing.T) {
	failed := entry(v1alpha1.TaskFailed, "m1", "", 3)
	failed.PodSpecHash = "p1"
	in := input(persisted(failed, nil))
	if d := lifecycle.Decide(in); d.Mode != lifecycle.Hold || len(d.Actions) > 0 || d.Condition.Reason != "TaskFailed" {
		t.Errorf("with the same pod: %s, %v", d.Mode, d.Actions)
	}
	d := lifecycle.Decide(with(in, otherPod))
	want := []lifecycle.Action{{Verb: lifecycle.Create, Task: "migrate", Attempt: 1}}
	if diff := cmp.Diff(want, d.Actions); diff != "" || reasons(d) != "TaskRecovering TaskStarted" {
		t.Errorf("events %q, actions (-want +got):\n%s", reasons(d), diff)
	}
}

func TestRetention(t *testing.T) {
	cases := map[v1alpha1.RetentionPolicy]struct{ succeeded, failed bool }{
		v1alpha1.RetentionDelete:          {},
		v1alpha1.RetentionRetain:          {succeeded: true, failed: true},
		v1alpha1.RetentionRetainOnFailure: {failed: true},
	}
	for policy, want := range cases {
		t.Run(string(policy), func(t *testing.T) {
			completed := input(persisted(entry(v1alpha1.TaskComplete, "m1", "m1", 1), entry(v1alpha1.TaskComplete, "i1", "i1", 1)), lastImage(image),
				job("migrate", lifecycle.Job{Checksum: "m1", Attempt: 1, State: lifecycle.JobSucceeded}),
				func(in *lifecycle.Input) { in.Steps[0].Retention = policy })
			if d := lifecycle.Decide(completed); len(d.Actions) == 0 != want.succeeded {
				t.Errorf("succeeded: %v", d.Actions)
			}
			reverted := with(completed, job("migrate", lifecycle.Job{Checksum: "m2", Attempt: 3, State: lifecycle.JobFailed}))
			if d := lifecycle.Decide(reverted); len(d.Actions) == 0 != want.failed {
				t.Errorf("failed, and reverted: %v", d.Actions)
			}
			failed := attempt(3, lifecycle.Job{State: lifecycle.JobFailed, FinishedAt: at(-4)},
				func(in *lifecycle.Input) { in.Steps[0].Retention = policy })
			if d := lifecycle.Decide(failed); len(d.Actions) > 0 {
				t.Errorf("failed, but not stored: %v", d.Actions)
			}
			d := lifecycle.Decide(decideOnce(failed))
			if len(d.Actions) == 0 != want.failed || d.Condition.Reason != v1alpha1.ReasonTaskFailed {
				t.Errorf("failed: %+v, %v", d.Condition, d.Actions)
			}
			j := failed.Jobs["migrate"]
			j.Deleting = true
			if d := lifecycle.Decide(with(decideOnce(failed), job("migrate", j))); d.Condition.Reason != v1alpha1.ReasonTaskFailed || len(d.Actions) > 0 {
				t.Errorf("while the Job terminates: %+v, %v", d.Condition, d.Actions)
			}
		})
	}
}

func condition(s *v1alpha1.TaskRefStatus) metav1.Condition {
	for _, c := range s.Conditions {
		if c.Type == v1alpha1.ConditionTaskComplete {
			return c
		}
	}
	return metav1.Condition{}
}

func TestTaskCondition(t *testing.T) {
	in := input()
	d := lifecycle.Decide(in)
	want := []string{"False TaskInProgress", "False TaskWaiting"}
	check := func(d lifecycle.Decision, want []string, since time.Time) {
		t.Helper()
		for i, s := range []*v1alpha1.TaskRefStatus{d.Status.Migrate, d.Status.Init} {
			c := condition(s)
			if got := string(c.Status) + " " + c.Reason; got != want[i] || len(s.Conditions) != 1 || c.Message == "" {
				t.Errorf("task %d: %q, %+v", i, got, s.Conditions)
			}
		}
		if c := condition(d.Status.Migrate); !c.LastTransitionTime.Time.Equal(since) {
			t.Errorf("changed at %s, want %s", c.LastTransitionTime, since)
		}
	}
	check(d, want, now)
	in.Status, in.Now = d.Status, now.Add(time.Minute)
	in.Jobs["migrate"] = lifecycle.Job{Checksum: "m1", Attempt: 1, PodHash: "p1", State: lifecycle.JobFailed, FinishedAt: at(59)}
	d = lifecycle.Decide(in)
	check(d, []string{"False TaskRetrying", "False TaskWaiting"}, now)
	in.Status = d.Status
	in.Status.Migrate.State, in.Status.Migrate.NextAttemptAt = v1alpha1.TaskRunning, nil
	in.Jobs["migrate"] = lifecycle.Job{Checksum: "m1", Attempt: 1, PodHash: "p1", State: lifecycle.JobSucceeded, FinishedAt: at(59)}
	check(lifecycle.Decide(in), []string{"True TaskComplete", "False TaskInProgress"}, now.Add(time.Minute))
}

func TestSucceededTaskCountsWithTerminatingJob(t *testing.T) {
	d := lifecycle.Decide(attempt(1, lifecycle.Job{State: lifecycle.JobSucceeded, FinishedAt: at(-1), Deleting: true}))
	if d.Status.Migrate.State != v1alpha1.TaskComplete {
		t.Errorf("slot %+v", d.Status.Migrate)
	}
}
