package lifecycle_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// serving is the state of a running web server.
var serving = lifecycle.Workloads{Desired: true, Exist: true, Pods: 3, WebDesired: true, WebExists: true, WebReady: true}

func workloads(w lifecycle.Workloads) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) { in.Workloads = w }
}

func page(p lifecycle.Page) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) { p.Configured = true; in.Page = p }
}

func state(edit func(*v1alpha1.LifecycleStatus)) func(*lifecycle.Input) {
	return func(in *lifecycle.Input) { edit(in.Status) }
}

func active(s *v1alpha1.LifecycleStatus) { s.MaintenanceActive = true }

func stopped(in *lifecycle.Input) { in.Stopped = true }

// drainResult is the expected result of a drain case.
type drainResult struct {
	Drain, Drained, Page, Active, TaskStarted bool
	Phase                                     v1alpha1.LifecyclePhase
	Mode                                      lifecycle.Mode
	Reason, Events                            string
}

func drainResultOf(d lifecycle.Decision) drainResult {
	return drainResult{
		Drain: d.Drain, Drained: d.Drained, Page: d.Page, Active: d.Status.MaintenanceActive, TaskStarted: len(d.Actions) > 0,
		Phase: d.Status.Phase, Mode: d.Mode, Reason: d.Condition.Reason, Events: reasons(d),
	}
}

// removed is the state after all components were removed.
var removed = lifecycle.Workloads{Desired: true, WebDesired: true}

func upgrade(edit ...func(*lifecycle.Input)) lifecycle.Input {
	return change("1.0.0", "2.0.0", edit...)
}

// draining returns the input of the decision after the start of a drain.
func draining() lifecycle.Input { return decideOnce(upgrade()) }

type drainCase struct {
	in   lifecycle.Input
	want drainResult
}

func checkDrain(t *testing.T, cases map[string]drainCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, drainResultOf(lifecycle.Decide(tc.in))); diff != "" {
				t.Errorf("decision differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrain(t *testing.T) {
	checkDrain(t, map[string]drainCase{
		"components are removed before a task that requires a drain": {
			in:   upgrade(),
			want: drainResult{Drain: true, Drained: true, Phase: "Draining", Mode: "wait", Reason: "Draining", Events: "UpgradeStarted DrainingStarted"},
		},
		"terminating pods are awaited": {
			in:   with(draining(), workloads(lifecycle.Workloads{Desired: true, Pods: 1})),
			want: drainResult{Drain: true, Drained: true, Phase: "Draining", Mode: "wait", Reason: "Draining"},
		},
		"the task starts when no pod is left": {
			in:   with(draining(), workloads(removed)),
			want: drainResult{Drained: true, TaskStarted: true, Phase: "Migrating", Mode: "wait", Reason: "TaskInProgress", Events: "DrainingCompleted TaskStarted"},
		},
		"a first installation has no drain": {
			in:   input(workloads(removed), page(lifecycle.Page{})),
			want: drainResult{TaskStarted: true, Phase: "Migrating", Mode: "wait", Reason: "TaskInProgress", Events: "LifecycleStarted TaskStarted"},
		},
		"a task that requires no drain runs while components run": {
			in:   upgrade(func(in *lifecycle.Input) { in.Steps[0].RequiresDrain = false }),
			want: drainResult{TaskStarted: true, Phase: "Migrating", Mode: "wait", Reason: "TaskInProgress", Events: "UpgradeStarted TaskStarted"},
		},
		"a started drain completes although the task no longer requires it": {
			in:   with(draining(), func(in *lifecycle.Input) { in.Steps[0].RequiresDrain = false }),
			want: drainResult{Drain: true, Drained: true, Phase: "Draining", Mode: "wait", Reason: "Draining"},
		},
		"a stopped Superset is not drained": {
			in:   upgrade(stopped),
			want: drainResult{Phase: "Complete", Mode: "hold", Reason: "TaskWaiting"},
		},
		"a drained Superset that is stopped waits": {
			in:   with(draining(), workloads(lifecycle.Workloads{}), stopped),
			want: drainResult{Drained: true, Phase: "Draining", Mode: "wait", Reason: "ComponentsDrained"},
		},
		"Deployments without pods are kept": {
			in:   upgrade(workloads(lifecycle.Workloads{Exist: true, Idle: true}), page(lifecycle.Page{})),
			want: drainResult{TaskStarted: true, Drained: true, Phase: "Migrating", Mode: "wait", Reason: "TaskInProgress", Events: "UpgradeStarted TaskStarted"},
		},
		"Deployments without replicas wait for terminating pods": {
			in:   upgrade(workloads(lifecycle.Workloads{Exist: true, Idle: true, Pods: 1})),
			want: drainResult{Drain: true, Drained: true, Phase: "Draining", Mode: "wait", Reason: "Draining", Events: "UpgradeStarted DrainingStarted"},
		},
	})
}

func TestDrainWithMaintenancePage(t *testing.T) {
	checkDrain(t, map[string]drainCase{
		"the maintenance page starts first": {
			in:   upgrade(page(lifecycle.Page{})),
			want: drainResult{Page: true, Phase: "Draining", Mode: "wait", Reason: "Draining", Events: "UpgradeStarted"},
		},
		"a ready page receives the traffic": {
			in: with(decideOnce(upgrade(page(lifecycle.Page{}))), page(lifecycle.Page{Ready: true})),
			want: drainResult{
				Page: true, Active: true, Phase: "Draining", Mode: "wait", Reason: "Draining",
				Events: "MaintenanceStarted DrainingStarted",
			},
		},
		"the drain waits until the Service selects the page": {
			in:   with(draining(), state(active), page(lifecycle.Page{Ready: true})),
			want: drainResult{Page: true, Active: true, Phase: "Draining", Mode: "wait", Reason: "Draining"},
		},
		"components are removed once the Service selects the page": {
			in:   with(draining(), state(active), page(lifecycle.Page{Ready: true, Routed: true})),
			want: drainResult{Page: true, Active: true, Drain: true, Drained: true, Phase: "Draining", Mode: "wait", Reason: "Draining"},
		},
		"without a web server the page is skipped": {
			in:   upgrade(page(lifecycle.Page{}), workloads(lifecycle.Workloads{Desired: true, Exist: true, Pods: 1})),
			want: drainResult{Drain: true, Drained: true, Phase: "Draining", Mode: "wait", Reason: "Draining", Events: "UpgradeStarted DrainingStarted"},
		},
		"the page stays while tasks run": {
			in: decideOnce(with(draining(), workloads(removed), state(active), page(lifecycle.Page{Ready: true, Routed: true})),
				job("migrate", lifecycle.Job{Checksum: "m12.0.0", Attempt: 1})),
			want: drainResult{Page: true, Active: true, Drained: true, Phase: "Migrating", Mode: "wait", Reason: "TaskInProgress"},
		},
	})
}

// with returns an edited copy.
func with(in lifecycle.Input, edit ...func(*lifecycle.Input)) lifecycle.Input {
	in.Status = in.Status.DeepCopy()
	jobs := in.Jobs
	in.Jobs = map[string]lifecycle.Job{}
	maps.Copy(in.Jobs, jobs)
	in.Steps = append([]lifecycle.Step(nil), in.Steps...)
	for _, e := range edit {
		e(&in)
	}
	return in
}

func TestMaintenancePageFailureIsReported(t *testing.T) {
	d := lifecycle.Decide(change("1.0.0", "2.0.0", page(lifecycle.Page{Failure: "ImagePullBackOff"})))
	if want := "Waiting for the maintenance page: ImagePullBackOff."; d.Condition.Message != want || d.Drain {
		t.Errorf("got %q, drain %v", d.Condition.Message, d.Drain)
	}
}

func TestMaintenanceEndsWhenWebServerIsReady(t *testing.T) {
	routed := lifecycle.Page{Ready: true, Routed: true}
	restoring := change("1.0.0", "1.0.0", func(in *lifecycle.Input) {
		in.Steps[0].Checksum, in.Steps[1].Checksum = "m1", "i1"
		in.Status.MaintenanceActive, in.Status.Phase = true, v1alpha1.LifecycleRestoring
	})
	cases := map[string]struct {
		in      lifecycle.Input
		wantEnd bool
	}{
		"the web server is not ready yet":     {in: with(restoring, page(routed), workloads(lifecycle.Workloads{Desired: true, WebDesired: true}))},
		"the web server is ready":             {in: with(restoring, page(routed)), wantEnd: true},
		"the web server is no longer desired": {in: with(restoring, page(routed), workloads(lifecycle.Workloads{})), wantEnd: true},
		"the page is no longer desired":       {in: with(restoring, workloads(lifecycle.Workloads{Desired: true, WebDesired: true})), wantEnd: true},
		"a task runs":                         {in: change("1.0.0", "2.0.0", page(routed), state(active))},
		"a change awaits approval and the web server exists": {
			in: change("1.0.0", "2.0.0", page(routed), state(active), supervised), wantEnd: true,
		},
		"a change awaits approval and the web server was removed": {
			in: change("1.0.0", "2.0.0", page(routed), state(active), supervised, workloads(lifecycle.Workloads{Desired: true, WebDesired: true})),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := lifecycle.Decide(tc.in)
			if d.Status.MaintenanceActive == tc.wantEnd || d.Page == tc.wantEnd {
				t.Errorf("active %v, page %v, events %q", d.Status.MaintenanceActive, d.Page, reasons(d))
			}
		})
	}
}

// TestW2DrainFollowsExistingObjects uses specs without components that still run.
func TestW2DrainFollowsExistingObjects(t *testing.T) {
	cases := map[string]lifecycle.Workloads{
		"a component removed with the image change":   {Desired: true, Exist: true, Pods: 1, WebDesired: true},
		"its Deployment deleted, its pod running":     {Desired: true, Pods: 1},
		"no replicas desired":                         {Exist: true, Pods: 2, WebExists: true},
		"all components removed":                      {Pods: 1},
		"a Deployment whose pods are not created yet": {Exist: true},
	}
	for name, w := range cases {
		t.Run(name, func(t *testing.T) {
			in := change("1.0.0", "2.0.0", workloads(w))
			in.Components = w.Desired
			d := lifecycle.Decide(in)
			if !d.Drain || len(d.Actions) > 0 {
				t.Errorf("drain %v, actions %v", d.Drain, d.Actions)
			}
			in.Status, in.Workloads = d.Status, lifecycle.Workloads{Desired: w.Desired}
			if d := lifecycle.Decide(in); d.Drain || len(d.Actions) != 1 || d.Actions[0].Verb != lifecycle.Create {
				t.Errorf("after the deletion: drain %v, actions %v", d.Drain, d.Actions)
			}
		})
	}
}

func TestDrainRequiresPendingTask(t *testing.T) {
	init := change("1.0.0", "1.0.0", func(in *lifecycle.Input) { in.Steps[0].Checksum = "m1" })
	if d := lifecycle.Decide(init); d.Drain || len(d.Actions) != 1 || d.Actions[0].Task != "init" || d.Drained {
		t.Errorf("init: drain %v, actions %v", d.Drain, d.Actions)
	}
	failed := change("1.0.0", "1.0.0", func(in *lifecycle.Input) {
		in.Steps[0].RequiresDrain, in.Steps[1].RequiresDrain = false, true
		in.Status.Migrate = entry(v1alpha1.TaskFailed, in.Steps[0].Checksum, "", 3)
	})
	if d := lifecycle.Decide(failed); d.Drain || d.Mode != lifecycle.Hold {
		t.Errorf("after a failed task: drain %v, mode %s", d.Drain, d.Mode)
	}
}

func TestDrainedComponentsStayRemovedAfterFailure(t *testing.T) {
	in := change("1.0.0", "2.0.0", workloads(lifecycle.Workloads{Desired: true, WebDesired: true}),
		page(lifecycle.Page{Ready: true, Routed: true}), state(active))
	in.Status.Migrate = entry(v1alpha1.TaskFailed, in.Steps[0].Checksum, "", 3)
	d := lifecycle.Decide(in)
	if d.Mode != lifecycle.Wait || !d.Drained || !d.Page || d.Condition.Reason != v1alpha1.ReasonTaskFailed {
		t.Errorf("got %+v", drainResultOf(d))
	}
}

// TestDisabledTaskKeepsComponentsRemoved disables migrate after its start. The Deployments without replicas must not start
// on the former image, which may not work on the database.
func TestDisabledTaskKeepsComponentsRemoved(t *testing.T) {
	in := change("1.0.0", "2.0.0", workloads(lifecycle.Workloads{Exist: true, Idle: true}))
	started := lifecycle.Decide(in)
	if !started.Status.MetastoreChanged {
		t.Errorf("the start of migrate is not recorded: %v", started.Actions)
	}
	in.Status, in.Steps, in.Workloads.Desired = started.Status, in.Steps[1:], true
	in.Status.Init = entry(v1alpha1.TaskFailed, in.Steps[0].Checksum, "", 3)
	if d := lifecycle.Decide(in); d.Mode != lifecycle.Wait {
		t.Errorf("mode %s: %s", d.Mode, d.Condition.Message)
	}
	in.Jobs["init"] = lifecycle.Job{UID: "2", State: lifecycle.JobSucceeded, Attempt: 1, Checksum: in.Steps[0].Checksum, PodHash: "p1"}
	in.Status.Init.State, in.Status.Init.Attempts = v1alpha1.TaskRunning, 1
	if d := lifecycle.Decide(in); d.Mode != lifecycle.Apply || d.Status.MetastoreChanged {
		t.Errorf("after init: mode %s, changed %v", d.Mode, d.Status.MetastoreChanged)
	}
}
