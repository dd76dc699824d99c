package charts

import (
	"fmt"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// The ingester emits events about its ConfigMap in its own namespace, which it may not watch.
func TestIngesterEmitsEventsInItsNamespace(t *testing.T) {
	for caseName, values := range renders(t)["ingester"] {
		var role rbacv1.Role
		doc := find(t, documents(t, render(t, "ingester", "--values", values)), "Role", "flotilla-ingester-leases")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(doc.Object, &role); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool {
			return slices.Equal(r.APIGroups, []string{"events.k8s.io"}) && slices.Equal(r.Verbs, []string{"create", "patch"})
		}) || role.Namespace != system {
			t.Errorf("%s: no rule for events.k8s.io in namespace %s", caseName, role.Namespace)
		}
	}
}

// With watchNamespaces the same rules apply in these namespaces only; rules for cluster-scoped
// resources do not change. The test uses SubjectAccessReviews of the API server.
func TestPermissionsAreLimitedToWatchedNamespaces(t *testing.T) {
	watched := map[string]authorizationv1.ResourceAttributes{
		"superset-operator": {Group: "superset.apache.org", Resource: "supersets", Verb: "patch"},
		"engine-operator":   {Group: "compute.firebolt.io", Resource: "fireboltengines", Verb: "patch"},
		"ingester":          {Group: "michelangelo.api", Resource: "models", Verb: "delete"},
		"status-aggregator": {Group: "superset.apache.org", Resource: "supersets", Subresource: "status", Verb: "patch"},
	}
	review := authorizationv1.ResourceAttributes{Group: "authentication.k8s.io", Resource: "tokenreviews", Verb: "create"}
	lease := authorizationv1.ResourceAttributes{Group: "coordination.k8s.io", Resource: "leases", Name: "flotilla-conditions", Verb: "get"}
	c := cluster.Get(t).Client(t, scheme.Scheme)
	for _, service := range services {
		t.Run(service, func(t *testing.T) {
			home, team, lead := cluster.Get(t).Namespace(t), cluster.Get(t).Namespace(t), cluster.Get(t).Namespace(t)
			args := []string{"--values", renders(t)[service]["default"], "--set", "watchNamespaces={" + team + "}", "--namespace", home, "--no-hooks"}
			if service == "superset-operator" || service == "engine-operator" {
				args = append(args, "--set", "conditionsLeaseNamespace="+lead)
			}
			for _, doc := range documents(t, render(t, service, args...)) {
				if !slices.Contains([]string{"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"}, doc.GetKind()) {
					continue
				}
				if err := c.Create(t.Context(), doc); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := c.Delete(t.Context(), doc); err != nil {
						t.Error(err)
					}
				}()
			}
			may := func(what authorizationv1.ResourceAttributes, namespace string, want bool) {
				t.Helper()
				what.Namespace = namespace
				expect.Eventually(t, expect.Long, func() error { // a new role takes effect with a delay
					r := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
						User: "system:serviceaccount:" + home + ":" + service, ResourceAttributes: &what,
					}}
					if err := c.Create(t.Context(), r); err != nil {
						return err
					}
					if r.Status.Allowed != want {
						return fmt.Errorf("%s %s in %q: allowed is %v", what.Verb, what.Resource, namespace, r.Status.Allowed)
					}
					return nil
				})
			}
			may(watched[service], team, true)
			may(watched[service], home, false)
			may(watched[service], metav1.NamespaceAll, false)
			may(review, metav1.NamespaceAll, true)
			if service == "superset-operator" || service == "engine-operator" {
				may(lease, lead, true)
				may(lease, home, false)
			}
		})
	}
}
