package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// legacy returns the state that another operator wrote: with its own checksums and without a scheme.
func legacy(clone, migrate, init *v1alpha1.TaskRefStatus) lifecycle.Input {
	in := chain(input(lastImage(image), workloads(serving)), "c1", "m1", "i1")
	in.Status = &v1alpha1.LifecycleStatus{
		Phase: v1alpha1.LifecycleComplete, Clone: clone, Migrate: migrate, Init: init,
		LastCompletedChecksums: map[string]string{"Clone": "sha256:c", "Migrate": "sha256:m", "Init": "sha256:i"},
	}
	return in
}

func complete(sum string) *v1alpha1.TaskRefStatus {
	s := entry(v1alpha1.TaskComplete, sum, sum, 1)
	s.CompletedAt, s.Message = at(-50), "Completed successfully"
	return s
}

func cloned() *v1alpha1.TaskRefStatus {
	s := complete("sha256:c")
	s.Image = "postgres:17-alpine"
	return s
}

func TestAdoptionRunsNoTaskAndEmitsNoEvent(t *testing.T) {
	in := legacy(cloned(), complete("sha256:m"), complete("sha256:i"))
	d := lifecycle.Decide(in)
	if d.Mode != lifecycle.Apply || len(d.Actions)+len(d.Events) > 0 || d.Status.Phase != v1alpha1.LifecycleComplete {
		t.Errorf("%s, %s, %v, %q", d.Mode, d.Status.Phase, d.Actions, reasons(d))
	}
	want := map[string]string{"Clone": "c1", "Migrate": "m1", "Init": "i1"}
	if diff := cmp.Diff(want, d.Status.LastCompletedChecksums); diff != "" {
		t.Errorf("settled checksums differ (-want +got):\n%s", diff)
	}
	s := d.Status.Migrate
	if s.Attempts != 1 || !s.StartedAt.Equal(at(-60)) || !s.CompletedAt.Equal(at(-50)) || s.Ref != "Job/x-migrate" {
		t.Errorf("slot %+v", s)
	}
	in.Status = d.Status
	if _, tasks := runTasks(t, in); len(tasks) > 0 {
		t.Errorf("ran %v", tasks)
	}
}

type adoptionCase struct {
	migrate  *v1alpha1.TaskRefStatus
	job      *lifecycle.Job
	state    v1alpha1.TaskState
	attempts int32
	actions  []lifecycle.Action
	events   string
}

// checkAdoption decides for tasks of another operator: clone and init are complete, migrate is not.
func checkAdoption(t *testing.T, cases map[string]adoptionCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := legacy(cloned(), tc.migrate, complete("sha256:i"))
			in.Status.Phase = v1alpha1.LifecycleMigrating
			for i := range in.Steps {
				in.Steps[i].ImageInput = inputImage
			}
			if tc.job != nil {
				job("migrate", *tc.job)(&in)
				if tc.job.PodHash == "" {
					j := in.Jobs["migrate"]
					j.PodHash = "theirs"
					in.Jobs["migrate"] = j
				}
			}
			d := lifecycle.Decide(in)
			s := d.Status.Migrate
			if s.State != tc.state || s.Attempts != tc.attempts {
				t.Errorf("slot %+v", s)
			}
			if diff := cmp.Diff(tc.actions, d.Actions); diff != "" || reasons(d) != tc.events {
				t.Errorf("events %q, actions (-want +got):\n%s", reasons(d), diff)
			}
			if d.Status.Clone.State != v1alpha1.TaskComplete {
				t.Errorf("the clone would run: %+v", d.Status.Clone)
			}
			if tc.state == v1alpha1.TaskRunning && d.Status.Init.State != v1alpha1.TaskPending {
				t.Errorf("init does not run after migrate: %+v", d.Status.Init)
			}
		})
	}
}

func migrating(attempts int32) *v1alpha1.TaskRefStatus {
	return entry(v1alpha1.TaskRunning, "sha256:m2", "", attempts)
}

func TestAdoptionContinuesRunningTask(t *testing.T) {
	checkAdoption(t, map[string]adoptionCase{
		"a running Job": {
			migrate: migrating(0), job: &lifecycle.Job{Checksum: "sha256:m2", PodHash: "theirs", Image: image},
			state: v1alpha1.TaskRunning, attempts: 1,
		},
		"a running Job in its second attempt": {
			migrate: migrating(2), job: &lifecycle.Job{Image: image}, state: v1alpha1.TaskRunning, attempts: 2,
		},
		"a running Job of a pending task": {
			migrate: waitingUntil(entry(v1alpha1.TaskPending, "", "", 0), 0), job: &lifecycle.Job{Image: image}, state: v1alpha1.TaskRunning, attempts: 1,
		},
		"a running Job without a status of its task": {
			job: &lifecycle.Job{Image: image}, state: v1alpha1.TaskRunning, attempts: 1,
		},
		"a Job with another image": {
			migrate: migrating(1), job: &lifecycle.Job{Image: "superset:0"}, state: v1alpha1.TaskPending, attempts: 0,
			events: "TaskImageChanged", actions: remove(),
		},
		"a Job with the image that stands for the default": {
			migrate: migrating(1), job: &lifecycle.Job{Image: inputImage}, state: v1alpha1.TaskRunning, attempts: 1,
		},
	})
}

func TestAdoptionContinuesAfterEndedJob(t *testing.T) {
	checkAdoption(t, map[string]adoptionCase{
		"a succeeded Job": {
			migrate: migrating(1), job: &lifecycle.Job{Image: image, State: lifecycle.JobSucceeded, FinishedAt: at(-1)},
			state: v1alpha1.TaskComplete, attempts: 1, events: "TaskSucceeded TaskStarted",
			actions: []lifecycle.Action{{Verb: lifecycle.Create, Task: "init", Attempt: 1}},
		},
		"a failed Job": {
			migrate: migrating(1), job: &lifecycle.Job{Image: image, State: lifecycle.JobFailed, FinishedAt: at(-1)},
			state: v1alpha1.TaskPending, attempts: 1, events: "TaskRetry",
		},
		"a pending next attempt": {migrate: waitingUntil(entry(v1alpha1.TaskPending, "sha256:m2", "", 1), 30), state: v1alpha1.TaskPending, attempts: 1},
		"a task that failed permanently": {
			migrate: entry(v1alpha1.TaskFailed, "sha256:m2", "", 3),
			job:     &lifecycle.Job{Image: image, PodHash: "theirs", State: lifecycle.JobFailed, FinishedAt: at(-1)},
			state:   v1alpha1.TaskFailed, attempts: 3,
		},
		"a task that failed permanently and whose Job was deleted": {
			migrate: entry(v1alpha1.TaskFailed, "sha256:m2", "", 3), state: v1alpha1.TaskFailed, attempts: 3,
		},
	})
}

func TestAdoptedJobCountsForOwnChecksum(t *testing.T) {
	in := legacy(cloned(), entry(v1alpha1.TaskRunning, "sha256:m2", "", 1), nil)
	job("migrate", lifecycle.Job{Image: image})(&in)
	in.Status = lifecycle.Decide(in).Status
	d := lifecycle.Decide(chain(in, "c1", "m3", "i3"))
	if diff := cmp.Diff(remove(), d.Actions); diff != "" {
		t.Errorf("actions differ (-want +got):\n%s", diff)
	}
}

// TestAdoptedJobThatSucceedsDuringChangeCounts changes the inputs of a task when the Job of the legacy operator succeeds.
func TestAdoptedJobThatSucceedsDuringChangeCounts(t *testing.T) {
	for jobImage, want := range map[string]string{image: "m1", "superset:0": ""} {
		in := legacy(cloned(), entry(v1alpha1.TaskRunning, "sha256:m2", "", 1), nil)
		job("migrate", lifecycle.Job{Image: image})(&in)
		in.Status = lifecycle.Decide(in).Status
		job("migrate", lifecycle.Job{Image: jobImage, State: lifecycle.JobSucceeded, FinishedAt: at(-1)})(&in)
		if got := lifecycle.Decide(chain(in, "c1", "m3", "i3")).Status.Migrate.CompletedChecksum; got != want {
			t.Errorf("image %s: completed %q, want %q", jobImage, got, want)
		}
	}
}

func TestAdoptedFailedTaskIsRetriedWithChangedPod(t *testing.T) {
	in := legacy(cloned(), entry(v1alpha1.TaskFailed, "sha256:m2", "", 3), nil)
	in.Status = lifecycle.Decide(in).Status
	in.Steps[1].PodHash = "p2"
	if d := lifecycle.Decide(in); reasons(d) != "TaskRecovering TaskStarted" {
		t.Errorf("events %q", reasons(d))
	}
}

func TestAdoptionWithChangedImageRunsTasks(t *testing.T) {
	in := legacy(cloned(), complete("sha256:m"), complete("sha256:i"))
	in.Image, in.Workloads = "superset:2", lifecycle.Workloads{}
	for i := range in.Steps {
		in.Steps[i].Image = in.Image
	}
	if _, tasks := runTasks(t, in); !cmp.Equal(tasks, []string{"c1", "m1", "i1"}) {
		t.Errorf("ran %v", tasks)
	}
}

func TestAdoptionDropsChecksumsOfDisabledTasks(t *testing.T) {
	in := chain(legacy(cloned(), complete("sha256:m"), complete("sha256:i")), "m1", "i1")
	d := lifecycle.Decide(in)
	if d.Mode != lifecycle.Apply || d.Status.Clone != nil || d.Status.LastCompletedChecksums["Clone"] != "" {
		t.Errorf("%s, %+v", d.Mode, d.Status)
	}
}
