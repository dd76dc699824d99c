package observation_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// scenario is a Superset at generation 4 whose generation 3 runs with all pods, and the result of its reconcile.
type scenario struct {
	sup        *v1alpha1.Superset
	snapshot   *snapshot.Snapshot
	decision   *lifecycle.Decision
	violations []string
	failure    error
	applied    bool
}

func running() *scenario {
	const old = "apache/superset:6.0.0"
	replicas := int32(1)
	sup := &v1alpha1.Superset{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", UID: "uid", Generation: 4},
		Spec: v1alpha1.SupersetSpec{
			Image:     v1alpha1.ImageSpec{Repository: "apache/superset", Tag: "6.1.0"},
			WebServer: &v1alpha1.WebServerSpec{ScalableComponentSpec: v1alpha1.ScalableComponentSpec{Replicas: &replicas}},
		},
		Status: v1alpha1.SupersetStatus{
			Phase: v1alpha1.PhaseRunning, LastLifecycleImage: old, ObservedGeneration: 3,
			Conditions: []metav1.Condition{{Type: conditions.TypeAvailable, Status: metav1.ConditionTrue, ObservedGeneration: 3}},
		},
	}
	d := &appsv1.Deployment{
		Spec:   appsv1.DeploymentSpec{Replicas: &replicas},
		Status: appsv1.DeploymentStatus{Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1},
	}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "superset", Image: old}}
	return &scenario{sup: sup, snapshot: &snapshot.Snapshot{
		Deployments: map[string]*appsv1.Deployment{component.WebServerName: d},
		Services:    map[string]*corev1.Service{component.WebServerName: {}},
	}}
}

// decide adds a decision about the tasks: its reason, and the states of migrate and init.
func (m *scenario) decide(mode lifecycle.Mode, phase v1alpha1.Phase, reason string, states ...v1alpha1.TaskState) {
	state := &v1alpha1.LifecycleStatus{Phase: v1alpha1.LifecyclePhase(phase)} // phases that both types have are equal
	if reason == v1alpha1.ReasonTaskFailed {
		state.Phase = v1alpha1.LifecycleBlocked
	}
	for i, entry := range []**v1alpha1.TaskRefStatus{&state.Migrate, &state.Init} {
		if i < len(states) {
			*entry = &v1alpha1.TaskRefStatus{State: states[i]}
		}
	}
	m.decision = &lifecycle.Decision{
		Mode: mode, Phase: phase, Upgrading: mode != lifecycle.Apply, Status: state, LastImage: m.sup.Status.LastLifecycleImage,
		Condition: metav1.Condition{Type: v1alpha1.ConditionLifecycleComplete, Status: metav1.ConditionFalse, Reason: reason, Message: "Do this."},
	}
	m.applied = mode == lifecycle.Apply
}

// drained removes the components, as before a task.
func (m *scenario) drained() {
	m.snapshot.Deployments, m.snapshot.Services = nil, nil
	m.decision.Drained = true
}

// compute computes the status and the conditions at a time after the reconcile.
func (m *scenario) compute(t *testing.T, after time.Duration) (v1alpha1.Phase, map[string]metav1.Condition) {
	t.Helper()
	intent := status.Intent(m.sup)
	want, err := desired.For(desired.Input{Superset: m.sup, Stopped: intent.Stopped})
	if err != nil {
		t.Fatal(err)
	}
	outcome := observation.Outcome(m.violations, m.decision, m.failure)
	in := status.Input{
		Superset: m.sup, Desired: want, Snapshot: m.snapshot, Decision: m.decision, Intent: intent,
		Violations: m.violations, Applied: m.applied, Now: now,
	}
	if m.failure != nil && outcome.Terminal {
		in.Failed = &outcome
	}
	owned, err := status.For(in)
	if err != nil {
		t.Fatal(err)
	}
	sup := m.sup.DeepCopy()
	owned.Conditions = append(owned.Conditions, sup.Status.Conditions...)
	sup.Status = owned
	o := observation.For(observation.Input{
		Superset: sup, Desired: want, Snapshot: m.snapshot, Intent: intent, Applied: m.applied, Outcome: outcome, Now: now,
	})
	input := conditions.Input{Observation: &o, Generation: sup.Generation, Now: now, WithReady: true}
	first := conditions.Compute(input)
	input.Previous, input.Memory, input.Now = first.Conditions, first.Memory, now.Add(after)
	out := map[string]metav1.Condition{}
	for _, c := range conditions.Compute(input).Conditions {
		out[c.Type] = c
	}
	return owned.Phase, out
}
