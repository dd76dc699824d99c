package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// chain returns an input with steps of the given checksums, in order.
func chain(in lifecycle.Input, sums ...string) lifecycle.Input {
	in = with(in)
	in.Steps = nil
	kinds := map[byte]resolve.TaskKind{'c': resolve.Clone, 'm': resolve.Migrate, 'r': resolve.Rotate, 'i': resolve.Init}
	for _, sum := range sums {
		kind := kinds[sum[0]]
		in.Steps = append(in.Steps, lifecycle.Step{
			Kind: kind, JobName: "x-" + kind.Slug, Checksum: sum, Inputs: "own " + sum, PodHash: "p1", Image: image, MaxRetries: 3,
		})
	}
	return in
}

// runTasks decides until no task is pending: each started task succeeds.
func runTasks(t *testing.T, in lifecycle.Input) (lifecycle.Input, []string) {
	t.Helper()
	in = with(in)
	var tasks []string
	for range 20 {
		d := lifecycle.Decide(in)
		in.Status, in.LastImage = d.Status, d.LastImage
		for _, a := range d.Actions {
			if a.Verb == lifecycle.Delete {
				delete(in.Jobs, a.Task)
				continue
			}
			step := find(in.Steps, a.Task)
			tasks = append(tasks, step.Checksum)
			in.Jobs[a.Task] = lifecycle.Job{
				UID: "u", Checksum: step.Checksum, PodHash: step.PodHash, Attempt: a.Attempt, Image: step.Image,
				State: lifecycle.JobSucceeded, FinishedAt: at(-1),
			}
		}
		if d.Mode == lifecycle.Apply && len(d.Actions) == 0 {
			return in, tasks
		}
	}
	t.Fatalf("the tasks do not complete: %+v", lifecycle.Decide(in).Condition)
	return in, nil
}

// startTask starts the first pending task.
func startTask(t *testing.T, in lifecycle.Input) lifecycle.Input {
	t.Helper()
	in = with(in)
	for range 5 {
		d := lifecycle.Decide(in)
		in.Status = d.Status
		for _, a := range d.Actions {
			delete(in.Jobs, a.Task)
			if a.Verb == lifecycle.Create {
				step := find(in.Steps, a.Task)
				in.Jobs[a.Task] = lifecycle.Job{UID: "new", Checksum: step.Checksum, PodHash: "p1", Attempt: a.Attempt, Image: step.Image}
				return in
			}
		}
	}
	t.Fatal("no task starts")
	return in
}

func TestTasksRunOnceInOrder(t *testing.T) {
	in, tasks := runTasks(t, chain(input(), "c1", "m1", "r1", "i1"))
	if diff := cmp.Diff([]string{"c1", "m1", "r1", "i1"}, tasks); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	want := map[string]string{"Clone": "c1", "Migrate": "m1", "Rotate": "r1", "Init": "i1"}
	if diff := cmp.Diff(want, in.Status.LastCompletedChecksums); diff != "" {
		t.Errorf("settled checksums differ (-want +got):\n%s", diff)
	}
	own := map[string]string{"Clone": "own c1", "Migrate": "own m1", "Rotate": "own r1", "Init": "own i1"}
	if diff := cmp.Diff(own, in.Status.CompletedInputs); diff != "" {
		t.Errorf("inputs differ (-want +got):\n%s", diff)
	}
	if _, second := runTasks(t, in); len(second) > 0 {
		t.Errorf("ran again: %v", second)
	}
}

// TestW3RevertRunsNothing reverts an image change at several points.
func TestW3RevertRunsNothing(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "m1", "i1"))
	upgrade := func(in lifecycle.Input) lifecycle.Input {
		in = chain(in, "m2", "i2")
		in.Image = "superset:2"
		return in
	}
	revert := func(in lifecycle.Input) lifecycle.Input {
		in = chain(in, "m1", "i1")
		in.Image = image
		return in
	}
	running := startTask(t, upgrade(base))
	migrated := with(running)
	migrated.Jobs["migrate"] = lifecycle.Job{UID: "new", Checksum: "m2", PodHash: "p1", Attempt: 1, State: lifecycle.JobSucceeded, FinishedAt: at(0)}
	failed := with(running)
	failed.Jobs["migrate"] = lifecycle.Job{UID: "new", Checksum: "m2", PodHash: "p1", Attempt: 1, State: lifecycle.JobFailed, FinishedAt: at(-100)}
	cases := map[string]struct {
		in      lifecycle.Input
		removes string // the task whose Job is deleted first
	}{
		"before any task started":                    {in: decideOnce(upgrade(base), supervised)},
		"while migrate runs":                         {in: running, removes: "migrate"},
		"while the Job is being deleted":             {in: with(running, job("migrate", lifecycle.Job{Checksum: "m2", Attempt: 1, Deleting: true})), removes: "migrate"},
		"after migrate failed":                       {in: decideOnce(failed)},
		"while init runs":                            {in: startTask(t, migrated), removes: "init"},
		"after migrate, before its result is stored": {in: migrated},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := revert(tc.in)
			d := lifecycle.Decide(in)
			if d.Status.Upgrade != nil {
				t.Errorf("the context stays: %+v", d.Status.Upgrade)
			}
			if tc.removes != "" {
				if d.Mode != lifecycle.Wait || d.Condition.Reason != v1alpha1.ReasonTaskWaiting || len(d.Actions) > 0 == in.Jobs[tc.removes].Deleting {
					t.Fatalf("while the Job exists: %s, %+v, %v", d.Mode, d.Condition, d.Actions)
				}
				in.Status = d.Status
				delete(in.Jobs, tc.removes)
				d = lifecycle.Decide(in)
			}
			if d.Mode != lifecycle.Apply || d.LastImage != image {
				t.Fatalf("%s, %+v", d.Mode, d.Condition)
			}
			for _, s := range []*v1alpha1.TaskRefStatus{d.Status.Migrate, d.Status.Init} {
				if s.State != v1alpha1.TaskComplete || s.Image != image || s.DesiredChecksum != s.CompletedChecksum || s.Message+s.LogTail != "" {
					t.Errorf("stale entry %+v", s)
				}
			}
			in.Status = d.Status
			if _, tasks := runTasks(t, in); len(tasks) > 0 {
				t.Errorf("ran %v", tasks)
			}
		})
	}
}

func TestW3RevertedDowngradeRestoresStatus(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "m1", "i1"))
	base.Image, base.LastImage = "superset:2.0.0", "superset:2.0.0"
	base.Status.Phase = v1alpha1.LifecycleComplete
	blocked := chain(base, "m0", "i0")
	blocked.Image = "superset:1.0.0"
	reverted := chain(decideOnce(blocked), "m1", "i1")
	if blocked = decideOnce(blocked); blocked.Status.Phase != v1alpha1.LifecycleBlocked {
		t.Fatalf("not blocked: %+v", blocked.Status)
	}
	reverted.Image = base.Image
	d := lifecycle.Decide(reverted)
	want := base.Status.DeepCopy()
	want.Phase = v1alpha1.LifecycleRestoring
	if diff := cmp.Diff(want, d.Status); diff != "" || d.Mode != lifecycle.Apply {
		t.Errorf("%s, state differs (-want +got):\n%s", d.Mode, diff)
	}
}

func TestRevertWithChangedConfigRunsInitOnly(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "m1", "i1"))
	in := chain(startTask(t, chain(base, "m2", "i2")), "m1", "i3")
	if _, tasks := runTasks(t, in); !cmp.Equal(tasks, []string{"i3"}) {
		t.Errorf("ran %v", tasks)
	}
}

func TestFollowingTasksRunAgain(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "c1", "m1", "i1"))
	// The clone for c2 started and dropped the database, so no former state can be restored.
	in := chain(startTask(t, chain(base, "c2", "m2", "i2")), "c1", "m1", "i1")
	if _, tasks := runTasks(t, in); !cmp.Equal(tasks, []string{"c1", "m1", "i1"}) {
		t.Errorf("ran %v", tasks)
	}
	if got := startTask(t, chain(base, "c2", "m2", "i2")).Status; got.LastCompletedChecksums != nil || len(got.CompletedInputs) != 3 {
		t.Errorf("settled %v, inputs %v", got.LastCompletedChecksums, got.CompletedInputs)
	}
}

func TestTaskCompletionDependsOnPredecessor(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "m1", "i1"))
	in := startTask(t, chain(base, "m2", "i2"))
	in.Jobs["migrate"] = lifecycle.Job{UID: "new", Checksum: "m2", PodHash: "p1", Attempt: 1, State: lifecycle.JobSucceeded, FinishedAt: at(0)}
	in = decideOnce(in)
	in.Jobs = map[string]lifecycle.Job{}
	// While migrate is disabled its completion for m2 is kept, so a change to m1 is not a revert.
	in = chain(decideOnce(chain(in, "i2")), "m1", "i1")
	in.Jobs = map[string]lifecycle.Job{}
	if _, tasks := runTasks(t, in); !cmp.Equal(tasks, []string{"m1", "i1"}) {
		t.Errorf("ran %v", tasks)
	}
}

// TestW14ReenabledTasksRunNothing also disables and enables the whole lifecycle.
func TestW14ReenabledTasksRunNothing(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "c1", "m1", "r1", "i1"))
	for name, enabled := range map[string][]string{
		"clone": {"m1", "r1", "i1"}, "migrate": {"c1", "r1", "i1"}, "init": {"c1", "m1", "r1"}, "two of them": {"m1", "i1"},
	} {
		t.Run(name, func(t *testing.T) {
			disabled, tasks := runTasks(t, chain(base, enabled...))
			if len(tasks) > 0 {
				t.Errorf("off: ran %v", tasks)
			}
			if len(enabled) == 3 && enabled[0] == "m1" && disabled.Status.Clone != nil {
				t.Errorf("the status entry stays: %+v", disabled.Status.Clone)
			}
			if _, tasks := runTasks(t, chain(disabled, "c1", "m1", "r1", "i1")); len(tasks) > 0 {
				t.Errorf("enabled again: ran %v", tasks)
			}
		})
	}
	disabled := chain(base)
	disabled.Disabled = true
	disabled, tasks := runTasks(t, disabled)
	if disabled.Disabled = false; len(tasks) > 0 || disabled.Status.Migrate != nil {
		t.Errorf("disabled: ran %v, %+v", tasks, disabled.Status.Migrate)
	}
	if _, tasks := runTasks(t, chain(disabled, "c1", "m1", "r1", "i1")); len(tasks) > 0 {
		t.Errorf("enabled again: ran %v", tasks)
	}
}

func TestJobResultIsRecordedForItsChecksum(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "c1", "m1", "i1"))
	done := startTask(t, chain(base, "c2", "m2", "i2"))
	done.Jobs["clone"] = lifecycle.Job{UID: "new", Checksum: "c2", PodHash: "p1", Attempt: 1, State: lifecycle.JobSucceeded, FinishedAt: at(0)}
	t.Run("with other desired inputs", func(t *testing.T) {
		d := lifecycle.Decide(chain(done, "c3", "m3", "i3"))
		if s := d.Status.Clone; s.CompletedChecksum != "c2" || s.State != v1alpha1.TaskPending {
			t.Errorf("slot %+v", s)
		}
	})
	t.Run("with a disabled task", func(t *testing.T) {
		d := lifecycle.Decide(chain(done, "m2", "i2"))
		if got := d.Status.LastCompletedChecksums["Clone"]; got != "c2" {
			t.Errorf("kept %q", got)
		}
	})
}

// TestW1JobsNeverOverlap covers all reasons to replace a Job.
func TestW1JobsNeverOverlap(t *testing.T) {
	base, _ := runTasks(t, chain(input(), "m1", "i1"))
	running := startTask(t, chain(base, "m2", "i2"))
	init := startTask(t, chain(base, "m1", "i2"))
	cases := map[string]struct {
		in   lifecycle.Input
		task string
	}{
		"another checksum":                     {chain(running, "m3", "i3"), "migrate"},
		"an earlier task that has to run":      {chain(init, "m3", "i3"), "init"},
		"a stuck pod with fixed settings":      {with(running, job("migrate", lifecycle.Job{UID: "new", Checksum: "m2", PodHash: "p0", Attempt: 1, StartFailure: "no image"})), "migrate"},
		"another image of the legacy operator": {with(running, job("migrate", lifecycle.Job{UID: "new", PodHash: "p0", Image: "superset:9"})), "migrate"},
		"a retry": {decideOnce(with(running, job("migrate", lifecycle.Job{
			UID: "new", Checksum: "m2", Attempt: 1, State: lifecycle.JobFailed, FinishedAt: at(-100),
		}))), "migrate"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := tc.in
			d := lifecycle.Decide(in)
			want := []lifecycle.Action{{Verb: lifecycle.Delete, Task: tc.task, UID: "new"}}
			if diff := cmp.Diff(want, d.Actions); diff != "" {
				t.Fatalf("actions differ (-want +got):\n%s", diff)
			}
			restarted := in
			restarted.Status = d.Status
			if second := lifecycle.Decide(restarted); !cmp.Equal(second.Actions, want) || len(second.Events) > 0 {
				t.Errorf("after a crash: actions %v, events %q", second.Actions, reasons(second))
			}
			j := in.Jobs[tc.task]
			j.Deleting = true
			in.Status, in.Jobs = d.Status, map[string]lifecycle.Job{tc.task: j}
			if d := lifecycle.Decide(in); len(d.Actions) > 0 || d.Mode != lifecycle.Wait {
				t.Errorf("while its pods terminate: %s, %v", d.Mode, d.Actions)
			}
			in.Status, in.Jobs = d.Status, nil
			if d := lifecycle.Decide(in); len(d.Actions) != 1 || d.Actions[0].Verb != lifecycle.Create {
				t.Errorf("after its deletion: %v", d.Actions)
			}
		})
	}
}
