package superset_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
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
	e.waitFor(sup, phase(v1alpha1.PhaseDegraded))
	expect.Eventually(t, timeout, func() error {
		var list eventsv1.EventList
		if err := e.client.List(t.Context(), &list, client.InNamespace(e.namespace)); err != nil {
			return err
		}
		named := func(ev eventsv1.Event) bool {
			return ev.Reason == "ReconcileError" && strings.Contains(ev.Note, "watch httproutes") && strings.Contains(ev.Note, "forbidden")
		}
		if !slices.ContainsFunc(list.Items, named) {
			return fmt.Errorf("no event names the kind and the cause among %d", len(list.Items))
		}
		return nil
	})
	expect.Object(t, e.client, e.monitor(), exists)
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Networking = nil })
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
}
