package lifecycle_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestStartWhileInitIncomplete starts a Superset whose components a stop scaled to zero, while init is not complete.
func TestStartWhileInitIncomplete(t *testing.T) {
	stopped := lifecycle.Workloads{Desired: true, Exist: true, Idle: true, ScaledDown: true, WebDesired: true}
	start := func(edit ...func(*lifecycle.Input)) lifecycle.Input {
		base := []func(*lifecycle.Input){
			persisted(entry(v1alpha1.TaskComplete, "m1", "m1", 1), entry(v1alpha1.TaskRunning, "i1", "", 1)), lastImage(image),
			job("init", lifecycle.Job{Checksum: "i1", Attempt: 1}), func(in *lifecycle.Input) { in.Workloads = stopped },
		}
		return input(append(base, edit...)...)
	}
	retrying := entry(v1alpha1.TaskPending, "i1", "", 1)
	retrying.NextAttemptAt, retrying.Message = at(10), "no server"
	for name, tc := range map[string]struct {
		in   lifecycle.Input
		mode lifecycle.Mode
	}{
		"it runs":                        {start(), lifecycle.Hold},
		"it is retried":                  {start(persisted(entry(v1alpha1.TaskComplete, "m1", "m1", 1), retrying), job("init", lifecycle.Job{Checksum: "i1", Attempt: 1, State: lifecycle.JobFailed})), lifecycle.Hold},
		"no component is scaled to zero": {start(func(in *lifecycle.Input) { in.Workloads.ScaledDown = false }), lifecycle.Wait},
		"the stop has not ended":         {start(func(in *lifecycle.Input) { in.Stopped = true }), lifecycle.Wait},
		"the image changes":              {start(lastImage("superset:0")), lifecycle.Wait},
		"the first installation":         {start(lastImage("")), lifecycle.Wait},
		"the metastore changed":          {start(func(in *lifecycle.Input) { in.Status.MetastoreChanged = true }), lifecycle.Wait},
		"init requires a drain":          {start(func(in *lifecycle.Input) { in.Steps[1].RequiresDrain = true }), lifecycle.Wait},
		"a migration without a drain runs": {start(
			persisted(entry(v1alpha1.TaskRunning, "m1", "", 1), entry(v1alpha1.TaskPending, "i1", "", 0)),
			func(in *lifecycle.Input) {
				in.Steps[0].RequiresDrain = false
				in.Jobs = map[string]lifecycle.Job{"migrate": {UID: "uid", Checksum: "m1", Attempt: 1}}
			}), lifecycle.Wait},
		"a pod of a deleted Job runs": {start(func(in *lifecycle.Input) {
			in.Jobs, in.FormerPods = map[string]lifecycle.Job{}, []string{"x-migrate-1"}
		}), lifecycle.Wait},
	} {
		if d := lifecycle.Decide(tc.in); d.Mode != tc.mode {
			t.Errorf("%s: got mode %s, want %s: %s", name, d.Mode, tc.mode, d.Condition.Message)
		}
	}
}

// checkResumed checks that existing components run again after a stop while init is the only task that is not complete, since
// their version was initialized before.
func (m *model) checkResumed(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	initialized := in.LastImage == in.Image && m.fromImage() == in.Image && !m.drainTaskStarted && !d.Status.MetastoreChanged
	missing := !in.Stopped && m.workloads && m.size == 0 && m.desired() > 0
	if initialized && missing && len(in.FormerPods) == 0 && d.Phase == "" && onlyInitRemains(in, d) {
		rt.Fatalf("invariant started-components-have-pods: mode %s, %s", d.Mode, d.Condition.Message)
	}
}

// onlyInitRemains reports whether all tasks except init are complete, and no Job of them is active.
func onlyInitRemains(in lifecycle.Input, d lifecycle.Decision) bool {
	remains := false
	for i := range in.Steps {
		kind := in.Steps[i].Kind
		complete := (*kind.StatusRef(d.Status)).State == v1alpha1.TaskComplete
		switch {
		case kind.Type == resolve.Init.Type:
			remains = !complete
		case !complete:
			return false
		}
	}
	for slug, job := range in.Jobs {
		if job.State == lifecycle.JobActive && slug != resolve.Init.Slug {
			return false
		}
	}
	return remains && d.Status.Phase != v1alpha1.LifecycleDraining
}

// checkHold checks that components change only while no task runs, except that a stop during an init of the same image has
// ended.
func (m *model) checkHold(rt *rapid.T, in lifecycle.Input, d lifecycle.Decision) {
	if d.Mode != lifecycle.Hold && !d.ScaleUp {
		return
	}
	for slug, job := range in.Jobs {
		resumed := slug == resolve.Init.Slug && in.LastImage == in.Image && in.Workloads.ScaledDown && !m.drainTaskStarted
		if job.State == lifecycle.JobActive && !resumed {
			rt.Fatalf("invariant no-pods-during-a-task: mode %s while %s runs", d.Mode, slug)
		}
	}
}
