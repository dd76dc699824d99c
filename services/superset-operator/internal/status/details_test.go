package status_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/status"
)

func TestOnlyDetailsDiffer(t *testing.T) {
	current := v1alpha1.SupersetStatus{
		Phase: v1alpha1.PhaseRunning, ObservedGeneration: 3, Ready: "1/2",
		Components: &v1alpha1.ComponentsStatus{WebServer: &v1alpha1.ComponentRefStatus{
			Phase: v1alpha1.ComponentProgressing, Ready: "1/2", Ref: "Deployment/x-web-server", Replicas: 2, ReadyReplicas: 1,
		}},
		Lifecycle: &v1alpha1.LifecycleStatus{Phase: v1alpha1.LifecycleComplete},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionLifecycleComplete, Status: metav1.ConditionTrue},
			{Type: "Available", Status: metav1.ConditionTrue}, // of another manager
		},
	}
	web := func(change func(*v1alpha1.ComponentRefStatus)) func(*v1alpha1.SupersetStatus) {
		return func(s *v1alpha1.SupersetStatus) { change(s.Components.WebServer) }
	}
	tests := map[string]struct {
		change func(*v1alpha1.SupersetStatus)
		want   bool
	}{
		"equal":               {func(*v1alpha1.SupersetStatus) {}, false},
		"ready pods":          {func(s *v1alpha1.SupersetStatus) { s.Ready = "2/2" }, true},
		"pods of a component": {web(func(c *v1alpha1.ComponentRefStatus) { c.ReadyReplicas, c.Phase = 2, v1alpha1.ComponentReady }), true},
		"message":             {web(func(c *v1alpha1.ComponentRefStatus) { c.Message = "1 of 2 replicas are ready." }), true},
		"objects": {web(func(c *v1alpha1.ComponentRefStatus) {
			c.Resources = []v1alpha1.ResourceStatus{{Kind: "Deployment", Name: "x-web-server", Status: v1alpha1.ResourcePresent}}
		}), true},
		"phase":            {func(s *v1alpha1.SupersetStatus) { s.Phase, s.Ready = v1alpha1.PhaseDegraded, "0/2" }, false},
		"generation":       {func(s *v1alpha1.SupersetStatus) { s.ObservedGeneration, s.Ready = 4, "0/2" }, false},
		"tasks":            {func(s *v1alpha1.SupersetStatus) { s.Lifecycle.Phase, s.Ready = v1alpha1.LifecycleRestoring, "0/2" }, false},
		"own condition":    {func(s *v1alpha1.SupersetStatus) { s.Conditions[0].Status, s.Ready = metav1.ConditionFalse, "0/2" }, false},
		"other conditions": {func(s *v1alpha1.SupersetStatus) { s.Conditions, s.Ready = s.Conditions[:1], "0/2" }, true},
		"remembered count": {web(func(c *v1alpha1.ComponentRefStatus) { c.LastReplicas, c.ReadyReplicas = 2, 2 }), false},
		"adopted spec":     {web(func(c *v1alpha1.ComponentRefStatus) { c.AdoptedSpec, c.ReadyReplicas = "abc", 2 }), false},
		"new component": {func(s *v1alpha1.SupersetStatus) {
			s.Components.CeleryBeat = &v1alpha1.ComponentRefStatus{Ref: "Deployment/x-celery-beat"}
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			desired := current.DeepCopy()
			tc.change(desired)
			if got := status.OnlyDetailsDiffer(&current, desired); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
