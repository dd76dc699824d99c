package superset_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/exposure"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// everyKind returns a small Superset with all kinds of objects. It has an Ingress or an HTTPRoute, never both.
func everyKind(edit ...func(*v1alpha1.Superset)) func(*env) *v1alpha1.Superset {
	return full(append([]func(*v1alpha1.Superset){disablePreflight, withMonitor, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.MaintenancePage = &v1alpha1.MaintenancePageSpec{}
		s.Spec.WebServer.Replicas = nil
		s.Spec.WebServer.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: 5}
		s.Spec.CeleryBeat, s.Spec.CeleryFlower, s.Spec.WebsocketServer, s.Spec.MCPServer = nil, nil, nil, nil
	}}, edit...)...)
}

// renderedObjects returns all objects that the operator renders for a Superset.
func renderedObjects(t testing.TB, sup *v1alpha1.Superset) []client.Object {
	t.Helper()
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	var out []client.Object
	add := func(list ...client.Object) {
		for _, obj := range list {
			if !reflect.ValueOf(obj).IsNil() {
				out = append(out, obj)
			}
		}
	}
	add(state.ServiceAccount)
	for i := range state.Components {
		c := &state.Components[i]
		add(c.Deployment, c.ConfigMap, c.Service, c.HPA, c.PDB)
	}
	for i := range state.Tasks {
		task := &state.Tasks[i]
		job, err := render.Job(&task.Task, task.Checksum, 1)
		if err != nil {
			t.Fatal(err)
		}
		add(job, task.ConfigMap)
	}
	if page := resolve.MaintenancePage(sup); page != nil {
		add(maintenance.Deployment(page), maintenance.ConfigMap(page))
	}
	ingress, route, err := exposure.Networking(sup, state.Components)
	if err != nil {
		t.Fatal(err)
	}
	add(ingress, route, exposure.ServiceMonitor(sup, state.Components))
	for _, policy := range exposure.NetworkPolicies(sup, state.Components) {
		add(policy)
	}
	return out
}

// kindOf returns the kind of a rendered object, and what the object is for if the operator handles the objects of that
// kind in several ways.
func kindOf(t testing.TB, obj client.Object) string {
	t.Helper()
	gvk, err := apiutil.GVKForObject(obj, scheme(t))
	if err != nil {
		t.Fatal(err)
	}
	switch obj.GetLabels()[v1alpha1.LabelComponent] {
	case v1alpha1.TaskComponentValue:
		return gvk.Kind + " of a task"
	case names.MaintenancePage:
		return gvk.Kind + " of the maintenance page"
	}
	return gvk.Kind
}

// firstOfEachKind returns the first rendered object of each kind, except the given objects.
func firstOfEachKind(t testing.TB, sup *v1alpha1.Superset, except ...client.Object) map[string]client.Object {
	t.Helper()
	out := map[string]client.Object{}
	for _, obj := range renderedObjects(t, sup) {
		kind := kindOf(t, obj)
		same := func(other client.Object) bool { return other.GetName() == obj.GetName() && kindOf(t, other) == kind }
		if out[kind] == nil && !slices.ContainsFunc(except, same) {
			out[kind] = obj
		}
	}
	return out
}

// TestRenderedObjectsHaveAllKinds checks that renderedObjects returns all kinds that the operator is permitted to
// create: the tests of foreign objects cover what it returns.
func TestRenderedObjectsHaveAllKinds(t *testing.T) {
	got, want := map[string]bool{}, map[string]bool{}
	e := &env{t: t}
	for _, edit := range []func(*v1alpha1.Superset){withIngress("a.example.org"), withGateway("a.example.org")} {
		for _, obj := range renderedObjects(t, everyKind(edit)(e)) {
			gvk, err := apiutil.GVKForObject(obj, scheme(t))
			if err != nil {
				t.Fatal(err)
			}
			plural, _ := meta.UnsafeGuessKindToResource(gvk)
			got[plural.GroupResource().String()] = true
		}
	}
	clusterRole, _ := roles(t)
	for _, rule := range clusterRole.Rules {
		for _, resource := range rule.Resources {
			if slices.Contains(rule.Verbs, "create") && !slices.Contains([]string{"events", "tokenreviews", "subjectaccessreviews"}, resource) {
				for _, group := range rule.APIGroups {
					want[schema.GroupResource{Group: group, Resource: resource}.String()] = true
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds differ (-permitted +rendered):\n%s", diff)
	}
}
