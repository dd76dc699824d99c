package lifecycle_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// failedUpgrade returns an upgrade whose migration failed permanently. The components were not drained.
func failedUpgrade(t *testing.T) lifecycle.Input {
	t.Helper()
	in := startTask(t, change("1.0.0", "2.0.0", func(in *lifecycle.Input) {
		in.Steps[0].RequiresDrain, in.Steps[0].MaxRetries = false, 1
	}))
	j := in.Jobs["migrate"]
	j.State, j.Message, j.FinishedAt = lifecycle.JobFailed, "exit code 1", at(-1)
	d := lifecycle.Decide(with(in, job("migrate", j)))
	if d.Status.Phase != v1alpha1.LifecycleBlocked || d.Condition.Reason != v1alpha1.ReasonTaskFailed || reasons(d) != "TaskFailed" {
		t.Fatalf("phase %s, %+v, events %q", d.Status.Phase, d.Condition, reasons(d))
	}
	return with(decideOnce(with(in, job("migrate", j))), job("migrate", j))
}

// TestFailedTaskBlocksUntilSpecIsFixed checks that the phase is Blocked while a task has no attempt left, and that each
// correction starts it again once without another event that the sequence started.
func TestFailedTaskBlocksUntilSpecIsFixed(t *testing.T) {
	for name, fix := range map[string]func(*lifecycle.Input){
		"another checksum": func(in *lifecycle.Input) { in.Steps[0].Checksum, in.Steps[1].Checksum = "m3", "i3" },
		"another pod":      otherPod,
		"more attempts":    func(in *lifecycle.Input) { in.Steps[0].MaxRetries = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			in := failedUpgrade(t)
			// A change whose tasks have started is not checked again.
			for range 2 {
				d := lifecycle.Decide(with(in, supervised))
				if d.Status.Phase != v1alpha1.LifecycleBlocked || d.Phase != "" || len(d.Actions) > 0 || reasons(d) != "" {
					t.Errorf("phase %s, %q, %v, events %q", d.Status.Phase, d.Phase, d.Actions, reasons(d))
				}
				in.Status = d.Status
			}
			in = with(in, fix)
			started, events := 0, ""
			for range 10 {
				d := lifecycle.Decide(in)
				in.Status, in.LastImage = d.Status, d.LastImage
				events += " " + reasons(d)
				for _, a := range d.Actions {
					delete(in.Jobs, a.Task)
					if a.Verb != lifecycle.Create {
						continue
					}
					if a.Task == "migrate" {
						started++
					}
					if d.Status.Phase == v1alpha1.LifecycleBlocked {
						t.Errorf("%s starts in phase %s", a.Task, d.Status.Phase)
					}
					step := find(in.Steps, a.Task)
					in.Jobs[a.Task] = lifecycle.Job{
						UID: "new", Checksum: step.Checksum, PodHash: step.PodHash, Attempt: a.Attempt, State: lifecycle.JobSucceeded, FinishedAt: at(-1),
					}
				}
			}
			got := eventCounts(events)
			if started != 1 || got["UpgradeStarted"] != 0 || got["LifecycleStarted"] != 0 || got["LifecycleComplete"] != 1 || got["UpgradeCompleted"] != 1 {
				t.Errorf("migrate started %d times, events%s", started, events)
			}
		})
	}
}

func TestRevertAfterFailedTaskCompletes(t *testing.T) {
	in := with(failedUpgrade(t), func(in *lifecycle.Input) {
		in.Image, in.Steps[0].Checksum, in.Steps[1].Checksum = "superset:1.0.0", "m1", "i1"
	})
	d := lifecycle.Decide(in)
	if d.Mode != lifecycle.Apply || d.Status.Phase != v1alpha1.LifecycleRestoring || reasons(d) != "LifecycleComplete" {
		t.Errorf("mode %s, phase %s, events %q", d.Mode, d.Status.Phase, reasons(d))
	}
}

// TestFailedTaskStartsNoUnapprovedDowngrade changes the image after a failed task, but none of its inputs: the change is
// blocked as long as it is not approved.
func TestFailedTaskStartsNoUnapprovedDowngrade(t *testing.T) {
	in := with(failedUpgrade(t), func(in *lifecycle.Input) { in.Image = "superset:0.9.0" })
	for i, want := range []string{"DowngradeBlocked", "", ""} {
		d := lifecycle.Decide(in)
		if d.Phase != v1alpha1.PhaseBlocked || d.Condition.Reason != v1alpha1.ReasonDowngradeBlocked || len(d.Actions) > 0 || reasons(d) != want {
			t.Errorf("decision %d: %q, %+v, %v, events %q", i, d.Phase, d.Condition, d.Actions, reasons(d))
		}
		in.Status = d.Status
	}
}

// TestInvalidScheduleAfterFailedTask checks that an invalid schedule is reported once although the phase is already
// Blocked, and that nothing starts again after its correction.
func TestInvalidScheduleAfterFailedTask(t *testing.T) {
	in := startTask(t, with(chain(input(), "c1", "m1"), schedule(-time.Hour, time.Hour), func(in *lifecycle.Input) { in.Steps[0].MaxRetries = 1 }))
	j := in.Jobs["clone"]
	j.State, j.FinishedAt = lifecycle.JobFailed, at(-1)
	in = decideOnce(with(in, job("clone", j)))
	for i, tc := range []struct {
		schedule func(*lifecycle.Input)
		reason   string
		events   string
	}{
		{schedule(-time.Hour, time.Hour), "TaskFailed", ""},
		{invalid, "InvalidCronSchedule", "InvalidCronSchedule"},
		{invalid, "InvalidCronSchedule", ""},
		{schedule(-time.Hour, time.Hour), "TaskFailed", ""},
		{schedule(-time.Hour, time.Hour), "TaskFailed", ""},
	} {
		d := lifecycle.Decide(with(in, tc.schedule))
		if d.Status.Phase != v1alpha1.LifecycleBlocked || d.Condition.Reason != tc.reason || reasons(d) != tc.events || len(d.Actions) > 0 {
			t.Errorf("decision %d: phase %s, %+v, events %q, %v", i, d.Status.Phase, d.Condition, reasons(d), d.Actions)
		}
		in.Status = d.Status
	}
}

// TestForeignWorkloadIsReportedOnce checks that the start of a sequence and the foreign object that blocks it are reported
// once, also after a failed task, whose phase is Blocked too.
func TestForeignWorkloadIsReportedOnce(t *testing.T) {
	foreign := func(in *lifecycle.Input) { in.Workloads.Foreign = []string{"Pod other"} }
	in := change("1.0.0", "2.0.0")
	for i, tc := range []struct {
		edit   func(*lifecycle.Input)
		events string
		phase  v1alpha1.LifecyclePhase
	}{
		{foreign, "UpgradeStarted NotOwned", v1alpha1.LifecycleBlocked},
		{foreign, "", v1alpha1.LifecycleBlocked},
		{func(*lifecycle.Input) {}, "DrainingStarted", v1alpha1.LifecycleDraining},
	} {
		d := lifecycle.Decide(with(in, tc.edit))
		if d.Status.Phase != tc.phase || reasons(d) != tc.events {
			t.Errorf("decision %d: phase %s, events %q", i, d.Status.Phase, reasons(d))
		}
		in.Status = d.Status
	}
	failed := with(failedUpgrade(t), foreign, otherPod, func(in *lifecycle.Input) {
		in.Steps[0].RequiresDrain = true
		delete(in.Jobs, "migrate")
	})
	if d := lifecycle.Decide(failed); reasons(d) != "TaskRecovering NotOwned" {
		t.Errorf("after a failed task: events %q", reasons(d))
	}
}

// TestUnmanagedDeploymentBlocksDrain checks that a Deployment of a component that this release does not have blocks a drain,
// which would wait for its pods.
func TestUnmanagedDeploymentBlocksDrain(t *testing.T) {
	d := lifecycle.Decide(change("1.0.0", "2.0.0", func(in *lifecycle.Input) { in.Workloads.Unmanaged = []string{"Deployment x-new"} }))
	want := "Task migrate does not start: these objects of this Superset belong to no component of this release of the operator: Deployment x-new. Delete them."
	if d.Condition.Message != want || d.Condition.Reason != "NotOwned" || d.Drain || reasons(d) != "UpgradeStarted NotOwned" {
		t.Errorf("condition %+v, drain %v, events %q", d.Condition, d.Drain, reasons(d))
	}
}

// eventCounts counts the reasons in a list that is separated by spaces.
func eventCounts(list string) map[string]int {
	out := map[string]int{}
	for reason := range strings.FieldsSeq(list) {
		out[reason]++
	}
	return out
}
