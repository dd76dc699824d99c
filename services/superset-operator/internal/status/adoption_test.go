package status_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// legacy changes the status to that of an operator without transitions.
func legacy(observed int64) func(*v1alpha1.Superset) {
	return func(sup *v1alpha1.Superset) {
		sup.Status.ObservedGeneration = observed
		sup.Status.Components = &v1alpha1.ComponentsStatus{WebServer: &v1alpha1.ComponentRefStatus{Phase: "Ready"}}
	}
}

func TestWorkloadOfEarlierOperatorIsAdopted(t *testing.T) {
	otherImage := func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "apache/superset:5.0.0" }
	cases := map[string]struct {
		sup  *v1alpha1.Superset
		d    *appsv1.Deployment
		want bool
	}{
		"the latest generation had been observed":       {sup: superset(lastStatus("Running", image), legacy(3)), d: deployment(2, 2), want: true},
		"an edit had not been observed":                 {sup: superset(lastStatus("Running", image), legacy(2)), d: deployment(2, 2)},
		"another image runs":                            {sup: superset(lastStatus("Running", image), legacy(3)), d: deployment(2, 2, otherImage)},
		"nothing runs":                                  {sup: superset(lastStatus("Running", image), legacy(3))},
		"no status had been written":                    {sup: superset(), d: deployment(2, 2)},
		"the Superset was paused before the adoption":   {sup: superset(lastStatus("Running", image), legacy(3), annotated("Paused")), d: deployment(2, 2), want: true},
		"the Superset was degraded before the adoption": {sup: superset(lastStatus("Degraded", image), legacy(3)), d: deployment(2, 1), want: true},
		"the component had no status":                   {sup: superset(lastStatus("Running", image), func(s *v1alpha1.Superset) { s.Status.ObservedGeneration = 3 }), d: deployment(2, 2)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := compute(t, tc.sup, snapshotOf(tc.d), decision(true, false, false, v1alpha1.LifecycleComplete))
			if adopted := got.Components.WebServer.AdoptedSpec != ""; adopted != tc.want {
				t.Errorf("adopted: want %v, got %v", tc.want, adopted)
			}
		})
	}
}

func TestAdoptionLastsUntilSpecChanges(t *testing.T) {
	sup := superset(lastStatus("Running", image), legacy(3))
	next := func() string {
		d := decision(true, false, false, v1alpha1.LifecycleComplete)
		sup.Status = compute(t, sup, snapshotOf(deployment(2, 2)), d)
		return sup.Status.Components.WebServer.AdoptedSpec
	}
	first := next()
	if first == "" || next() != first {
		t.Fatal("the adoption ended without a change")
	}
	sup.Spec.WebServer.Replicas = new(int32(5))
	if next() != first {
		t.Error("another number of pods ended the adoption")
	}
	sup.Spec.WebServer.Config, sup.Generation = new("ROW_LIMIT = 1"), 4
	if next() != "" {
		t.Fatal("another config did not end the adoption")
	}
	sup.Spec.WebServer.Config, sup.Generation = nil, 5
	if next() != "" {
		t.Error("the Deployment was adopted again although its pods were rolled meanwhile")
	}
}

// TestUnappliedEditKeepsAdoption edits the spec while the reconcile does not apply it, and reverts the edit.
func TestUnappliedEditKeepsAdoption(t *testing.T) {
	cases := map[string]struct {
		decision   *lifecycle.Decision
		violations []string
	}{
		"paused":    {},
		"rejected":  {violations: []string{"spec: invalid"}},
		"tasks run": {decision: decision(false, false, true, v1alpha1.LifecycleMigrating)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sup := superset(lastStatus("Running", image), legacy(3))
			sup.Status = compute(t, sup, snapshotOf(deployment(2, 2)), decision(true, false, false, v1alpha1.LifecycleComplete))
			want := sup.Status.Components.WebServer.AdoptedSpec
			sup.Spec.WebServer.Config, sup.Generation = new("ROW_LIMIT = 1"), 4
			sup.Status = compute(t, sup, snapshotOf(deployment(2, 2)), tc.decision, tc.violations...)
			if got := sup.Status.Components.WebServer.AdoptedSpec; want == "" || got != want {
				t.Errorf("adopted %q before the edit, %q after it", want, got)
			}
		})
	}
}

func TestAutoscalerReplicasAreKept(t *testing.T) {
	sup := superset(lastStatus("Running", image), func(s *v1alpha1.Superset) {
		s.Spec.WebServer.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 9}
	})
	steps := []struct {
		d    *appsv1.Deployment
		want int32
	}{
		{d: deployment(4, 4), want: 4},
		{d: deployment(6, 4), want: 6},
		{d: nil, want: 6},
		{d: deployment(0, 0), want: 6},
		{d: deployment(2, 2), want: 2},
	}
	for i, step := range steps {
		d := decision(true, false, false, v1alpha1.LifecycleComplete)
		sup.Status = compute(t, sup, snapshotOf(step.d), d)
		if got := sup.Status.Components.WebServer.LastReplicas; got != step.want {
			t.Errorf("step %d: want %d, got %d", i, step.want, got)
		}
	}
	sup.Spec.WebServer.Autoscaling = nil
	sup.Status = compute(t, sup, snapshotOf(deployment(2, 2)), decision(true, false, false, v1alpha1.LifecycleComplete))
	if got := sup.Status.Components.WebServer.LastReplicas; got != 0 {
		t.Errorf("without an autoscaler %d is kept", got)
	}
}

func TestComponentStatusDuringLifecycle(t *testing.T) {
	cases := map[string]struct {
		d       *appsv1.Deployment
		edit    func(*lifecycle.Decision)
		phase   v1alpha1.ComponentPhase
		ready   string
		message string
	}{
		"removed by a drain": {
			edit:  func(d *lifecycle.Decision) { d.Drained = true },
			phase: "Drained", ready: "0/2", message: "The component is removed until the lifecycle tasks are complete.",
		},
		"not yet removed by a drain": {
			d: deployment(2, 2), edit: func(d *lifecycle.Decision) { d.Drained = true },
			phase: "Ready", ready: "2/2",
		},
		"not added while tasks may not run": {
			edit:  func(d *lifecycle.Decision) { d.Mode = lifecycle.Hold },
			phase: "Pending", ready: "0/2", message: "The component waits for the lifecycle tasks, which are not running.",
		},
		"ready behind the maintenance page": {
			d: deployment(2, 2), edit: func(d *lifecycle.Decision) { d.Status.MaintenanceActive = true },
			phase: "Progressing", ready: "0/2", message: "The maintenance page receives the traffic of the web server.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := decision(false, false, true, v1alpha1.LifecycleMigrating)
			tc.edit(d)
			web := compute(t, superset(lastStatus("Upgrading", "apache/superset:5.0.0")), snapshotOf(tc.d), d).Components.WebServer
			if web.Phase != tc.phase || web.Ready != tc.ready || web.Message != tc.message {
				t.Errorf("got %s, %s, %q", web.Phase, web.Ready, web.Message)
			}
		})
	}
}

func TestRestoringLastsUntilMaintenanceEnds(t *testing.T) {
	d := decision(true, false, true, v1alpha1.LifecycleRestoring)
	d.Status.MaintenanceActive = true
	sup := superset(lastStatus("Upgrading", "apache/superset:5.0.0"))
	got := compute(t, sup, snapshotOf(deployment(2, 2)), d)
	if got.Phase != "Upgrading" || got.Lifecycle.Phase != v1alpha1.LifecycleRestoring {
		t.Errorf("behind the page: phase %s, lifecycle %s", got.Phase, got.Lifecycle.Phase)
	}
	d.Status.MaintenanceActive = false
	got = compute(t, sup, snapshotOf(deployment(2, 2)), d)
	if got.Phase != "Running" || got.Lifecycle.Phase != v1alpha1.LifecycleComplete {
		t.Errorf("without the page: phase %s, lifecycle %s", got.Phase, got.Lifecycle.Phase)
	}
	if d.Status.Phase != v1alpha1.LifecycleRestoring {
		t.Errorf("the decision was changed to phase %s", d.Status.Phase)
	}
}

func TestPhaseDuringHold(t *testing.T) {
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhaseBlocked, v1alpha1.PhaseAwaitingApproval} {
		d := decision(false, false, true, v1alpha1.LifecyclePhase(phase))
		d.Mode, d.Phase, d.Condition.Reason = lifecycle.Hold, phase, "Why"
		got := compute(t, superset(lastStatus("Running", "apache/superset:5.0.0")), snapshotOf(deployment(2, 2)), d)
		lastTransition := got.Transitions[len(got.Transitions)-1]
		if got.Phase != phase || lastTransition.To != string(phase) || lastTransition.Reason != "Why" {
			t.Errorf("phase %s, transition %+v", got.Phase, lastTransition)
		}
	}
}
