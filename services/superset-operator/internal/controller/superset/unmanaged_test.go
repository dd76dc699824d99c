package superset_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// TestUnmanagedDeploymentBlocksDrain creates the Deployment of a component that this release does not have, as after a
// rollback of the operator: a drain names it and waits for its deletion.
func TestUnmanagedDeploymentBlocksDrain(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal())
	labels := names.Labels("lab", "new-component")
	other := l.foreignDeployment("lab-new-component", labels, labels)
	if err := controllerutil.SetControllerReference(sup, other, l.client.Scheme()); err != nil {
		t.Fatal(err)
	}
	if err := l.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	l.edit(sup, image("6.1.0"))
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("LifecycleComplete", metav1.ConditionFalse, "NotOwned")))
	if text := message(sup, "LifecycleComplete"); !strings.Contains(text, "belong to no component of this release of the operator: Deployment lab-new-component.") {
		t.Errorf("message of LifecycleComplete: %q", text)
	}
	l.waitEvents(map[string]int{"Warning NotOwned": 1, "Normal DrainingStarted": 0})
	if err := l.client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
}
