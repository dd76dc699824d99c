package superset_test

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// kindWithoutPermissionIsReported runs an operator whose role lacks HTTPRoutes: the Superset that requests one names it.
func kindWithoutPermissionIsReported(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	e := start(t, options{cluster: c, before: func(e *env) {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "operator"}}
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(role), role); err != nil {
			t.Fatal(err)
		}
		role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "httproutes") })
		if err := e.client.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}})
	sup := e.create(e.sample("development.yaml", withMonitor))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.edit(sup, withGateway("bi.example.org"))
	e.waitFor(sup, condition("Degraded", metav1.ConditionTrue, "ReconcileError"))
	if text := message(sup, "Degraded"); !strings.Contains(text, "watch httproutes") || !strings.Contains(text, "forbidden") {
		t.Errorf("message %q", text)
	}
	expect.Object(t, e.client, e.monitor(), exists)
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Networking = nil })
	e.waitFor(sup, all(phase(v1alpha1.PhaseRunning), condition("Degraded", metav1.ConditionFalse, "AsExpected")))
}
