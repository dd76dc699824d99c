package status_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

const image = "apache/superset:6.0.0"

func superset(edit ...func(*v1alpha1.Superset)) *v1alpha1.Superset {
	sup := &v1alpha1.Superset{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x", UID: "uid", Generation: 3},
		Spec: v1alpha1.SupersetSpec{
			Image:     v1alpha1.ImageSpec{Repository: "apache/superset", Tag: "6.0.0"},
			WebServer: &v1alpha1.WebServerSpec{ScalableComponentSpec: v1alpha1.ScalableComponentSpec{Replicas: new(int32(2))}},
		},
	}
	for _, e := range edit {
		e(sup)
	}
	return sup
}

func lastStatus(phase v1alpha1.Phase, lastImage string) func(*v1alpha1.Superset) {
	return func(sup *v1alpha1.Superset) {
		sup.Status.Phase, sup.Status.LastLifecycleImage = phase, lastImage
	}
}

func annotated(command string) func(*v1alpha1.Superset) {
	return func(sup *v1alpha1.Superset) {
		sup.Annotations = map[string]string{v1alpha1.AnnotationCommand: command}
	}
}

func deployment(want, ready int32, edit ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 1},
		Spec:       appsv1.DeploymentSpec{Replicas: &want},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 1, Replicas: want, UpdatedReplicas: want, ReadyReplicas: ready, AvailableReplicas: ready,
		},
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "superset", Image: image}}
	for _, e := range edit {
		e(d)
	}
	return d
}

func snapshotOf(d *appsv1.Deployment, pods ...corev1.PodPhase) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Deployments: map[string]*appsv1.Deployment{}, Pods: map[string][]corev1.Pod{}}
	for _, phase := range pods {
		s.Pods["web-server"] = append(s.Pods["web-server"], corev1.Pod{Status: corev1.PodStatus{Phase: phase}})
	}
	if d != nil {
		s.Deployments["web-server"] = d
	}
	return s
}

func decision(done, initial, upgrading bool, phase v1alpha1.LifecyclePhase) *lifecycle.Decision {
	mode := lifecycle.Wait
	if done {
		mode = lifecycle.Apply
	}
	return &lifecycle.Decision{
		Mode: mode, Initial: initial, Upgrading: upgrading, LastImage: image,
		Status:    &v1alpha1.LifecycleStatus{Phase: phase},
		Condition: metav1.Condition{Type: v1alpha1.ConditionLifecycleComplete, Status: metav1.ConditionTrue, Reason: "Any"},
	}
}

func compute(t *testing.T, sup *v1alpha1.Superset, snap *snapshot.Snapshot, d *lifecycle.Decision, violations ...string) v1alpha1.SupersetStatus {
	t.Helper()
	return computeInput(t, sup, snap, d, func(in *status.Input) { in.Violations = violations })
}

func computeInput(t *testing.T, sup *v1alpha1.Superset, snap *snapshot.Snapshot, d *lifecycle.Decision, edit func(*status.Input)) v1alpha1.SupersetStatus {
	t.Helper()
	intent := status.Intent(sup)
	want, err := desired.For(desired.Input{Superset: sup, Stopped: intent.Stopped})
	if err != nil {
		t.Fatal(err)
	}
	in := status.Input{
		Superset: sup, Desired: want, Snapshot: snap, Decision: d, Intent: intent, Now: now, Applied: d != nil && d.Mode == lifecycle.Apply,
	}
	edit(&in)
	got, err := status.For(in)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestDeployedVersionFollowsReadyImage checks that the deployed version is the last one whose components were ready:
// completed tasks alone do not change it.
func TestDeployedVersionFollowsReadyImage(t *testing.T) {
	const done = v1alpha1.LifecycleComplete
	never := superset(lastStatus(v1alpha1.PhaseInitializing, image))
	upgraded := superset(lastStatus(v1alpha1.PhaseUpgrading, image), func(s *v1alpha1.Superset) { s.Status.DeployedVersion = "5.0.0" })
	blocked := decision(false, false, true, v1alpha1.LifecycleBlocked)
	blocked.Mode = lifecycle.Hold
	for name, tc := range map[string]struct {
		sup  *v1alpha1.Superset
		snap *snapshot.Snapshot
		d    *lifecycle.Decision
		want string
	}{
		"never ready":               {never, snapshotOf(deployment(2, 0)), decision(true, false, false, done), ""},
		"ready":                     {never, snapshotOf(deployment(2, 2)), decision(true, false, false, done), "6.0.0"},
		"an upgrade not ready yet":  {upgraded, snapshotOf(deployment(2, 1)), decision(true, false, false, done), "5.0.0"},
		"an upgrade that is ready":  {upgraded, snapshotOf(deployment(2, 2)), decision(true, false, false, done), "6.0.0"},
		"tasks run, nothing exists": {upgraded, snapshotOf(nil), decision(false, false, true, v1alpha1.LifecycleMigrating), "5.0.0"},
		"a change is blocked":       {upgraded, snapshotOf(deployment(2, 2)), blocked, "5.0.0"},
		"paused":                    {superset(lastStatus("Running", image), annotated("Paused"), func(s *v1alpha1.Superset) { s.Status.DeployedVersion = "5.0.0" }), snapshotOf(deployment(2, 2)), nil, "5.0.0"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := compute(t, tc.sup, tc.snap, tc.d).DeployedVersion; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestComponentStatus(t *testing.T) {
	cases := map[string]struct {
		d       *appsv1.Deployment
		phase   v1alpha1.ComponentPhase
		ready   string
		message string
	}{
		"no Deployment":            {phase: "Pending", ready: "0/2", message: "Deployment x-web-server does not exist."},
		"all ready":                {d: deployment(2, 2), phase: "Ready", ready: "2/2"},
		"some ready":               {d: deployment(3, 1), phase: "Progressing", ready: "1/3", message: "1 of 3 replicas are ready."},
		"scaled to zero":           {d: deployment(0, 0), phase: "Ready", ready: "0/0", message: "The component is scaled to zero."},
		"latest spec not observed": {d: deployment(2, 2, func(d *appsv1.Deployment) { d.Generation = 2 }), phase: "Progressing", ready: "2/2", message: "The latest spec of the Deployment is not observed yet."},
		"nothing ready":            {d: deployment(2, 0, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 }), phase: "Unavailable", ready: "0/2", message: "0 of 2 replicas are ready."},
		"old pods still exist":     {d: deployment(2, 2, func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), phase: "Progressing", ready: "2/2", message: "2 of 2 replicas are ready."},
		"deadline passed": {
			d: deployment(2, 1, func(d *appsv1.Deployment) {
				d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded"}}
			}),
			phase: "Unavailable", ready: "1/2", message: "The rollout exceeded its progress deadline: 1 of 2 replicas are ready.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := compute(t, superset(lastStatus(v1alpha1.PhaseRunning, image)), snapshotOf(tc.d), decision(true, false, false, v1alpha1.LifecycleComplete))
			web := got.Components.WebServer
			if web.Phase != tc.phase || web.Ready != tc.ready || web.Message != tc.message {
				t.Errorf("got %s, %s, %q", web.Phase, web.Ready, web.Message)
			}
			if got.Ready != tc.ready || web.Ref != "Deployment/x-web-server" {
				t.Errorf("got ready %s, ref %s", got.Ready, web.Ref)
			}
		})
	}
}

func TestTransitionsOmitFlapping(t *testing.T) {
	sup := superset()
	var got []string
	for _, phase := range []struct {
		d     *appsv1.Deployment
		pause bool
	}{
		{d: deployment(2, 2)},
		{d: deployment(2, 1)},
		{d: deployment(2, 2)},
		{d: deployment(2, 2), pause: true},
		{d: deployment(2, 1)},
		{d: deployment(2, 2)},
		{d: deployment(2, 1)},
	} {
		sup.Spec.Suspend = &phase.pause
		d := decision(true, false, false, v1alpha1.LifecycleComplete)
		sup.Status = compute(t, sup, snapshotOf(phase.d), d)
	}
	for _, e := range sup.Status.Transitions {
		got = append(got, e.From+">"+e.To)
	}
	want := []string{">Running", "Running>Suspended", "Suspended>Degraded", "Degraded>Running"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("transitions differ (-want +got):\n%s", diff)
	}
}

func TestForeignConditionsAreNotWritten(t *testing.T) {
	sup := superset(lastStatus(v1alpha1.PhaseRunning, image))
	before := metav1.NewTime(now.Add(-time.Hour))
	sup.Status.Conditions = []metav1.Condition{
		{Type: "Available", Status: "True", Reason: "AllComponentsReady", LastTransitionTime: before},
		{Type: "Suspended", Status: "False", Reason: "NotSuspended", LastTransitionTime: before},
	}
	got := compute(t, sup, snapshotOf(deployment(2, 2)), decision(true, false, false, v1alpha1.LifecycleComplete))
	times := map[string]bool{}
	for _, c := range got.Conditions {
		times[c.Type] = c.LastTransitionTime.Equal(&before)
		if c.ObservedGeneration != 3 {
			t.Errorf("%s has observedGeneration %d", c.Type, c.ObservedGeneration)
		}
	}
	if diff := cmp.Diff(map[string]bool{"Suspended": true, "LifecycleComplete": false}, times); diff != "" {
		t.Errorf("conditions with an unchanged time (-want +got):\n%s", diff)
	}
}

// TestIgnoredFieldsAreReported checks that the condition of a Superset that runs names a field that its tasks do not read.
func TestIgnoredFieldsAreReported(t *testing.T) {
	sup := superset(func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle = &v1alpha1.LifecycleSpec{
			PodTemplate: &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{Command: []string{"mine"}}},
			Init:        &v1alpha1.InitTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Disabled: new(true)}},
		}
		s.Status.Lifecycle = &v1alpha1.LifecycleStatus{Migrate: &v1alpha1.TaskRefStatus{State: v1alpha1.TaskComplete}}
	})
	complete := decision(true, false, false, v1alpha1.LifecycleComplete)
	complete.Condition.Message = "All lifecycle tasks are complete."
	got := meta.FindStatusCondition(compute(t, sup, snapshotOf(deployment(2, 2)), complete).Conditions, v1alpha1.ConditionLifecycleComplete)
	want := "All lifecycle tasks are complete. The spec has fields without effect: spec.lifecycle.podTemplate.container.command: " +
		"has no effect on task migrate: set spec.lifecycle.migrate.command instead."
	if got == nil || got.Status != metav1.ConditionTrue || got.Message != want {
		t.Errorf("got %+v, want %q", got, want)
	}
}
