package observation_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
)

// stalled adds a new pod of the web server that is not ready, and whose rollout exceeded its progress deadline.
func stalled(m *scenario) {
	s := &m.snapshot.Deployments[component.WebServerName].Status
	s.Replicas, s.UpdatedReplicas, s.UnavailableReplicas = 2, 1, 1
	s.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded",
	}}
}

// TestStalledRolloutIsReported checks the six conditions of a rollout that exceeded its progress deadline while the old
// pod serves: at once, and after all hold-downs.
func TestStalledRolloutIsReported(t *testing.T) {
	want := map[string]string{
		conditions.TypeAvailable:   "True AllComponentsReady: All serving workloads are available.",
		conditions.TypeProgressing: "False Stalled: webServer is stalled.",
		conditions.TypeDegraded:    "True Stalled: webServer exceeded its progress deadline.",
		conditions.TypeUpgradable:  "False Degraded: webServer exceeded its progress deadline.",
		conditions.TypePaused:      "False NotPaused: No pause is requested.",
		conditions.TypeStopped:     "False Running: No stop is requested.",
	}
	for _, after := range []time.Duration{0, time.Hour} {
		m := running()
		m.decide(lifecycle.Apply, "", "LifecycleComplete", "Complete", "Complete")
		stalled(m)
		_, list := m.compute(t, after)
		got := map[string]string{}
		for _, kind := range conditions.TypesOf(false) {
			c := list[kind]
			got[kind] = string(c.Status) + " " + c.Reason + ": " + c.Message
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %s, conditions differ (-want +got):\n%s", after, diff)
		}
	}
}
