package superset_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

const (
	roleFile      = "../../../config/rbac/role.yaml"
	userRolesFile = "../../../config/rbac/user_roles.yaml"
	// account is the user under which all operators of these tests run.
	account = "system:serviceaccount:flotilla-system:superset-operator"
)

func TestRoleHasNoWildcardsOrSecrets(t *testing.T) {
	cluster, namespaced := roles(t)
	for _, rule := range slices.Concat(cluster.Rules, namespaced.Rules) {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
			if slices.Contains(list, "*") {
				t.Errorf("a wildcard in %+v", rule)
			}
		}
		if slices.Contains(rule.Resources, "secrets") {
			t.Errorf("Secrets in %+v", rule)
		}
	}
}

func TestRoleReadsCRDsOfOptionalKindsOnly(t *testing.T) {
	cluster, _ := roles(t)
	found := false
	for _, rule := range cluster.Rules {
		if !slices.Contains(rule.Resources, "customresourcedefinitions") {
			continue
		}
		found = true
		if len(rule.ResourceNames) != 2 || len(rule.Resources) != 1 {
			t.Errorf("not limited to the two CRDs: %+v", rule)
		}
		for _, verb := range rule.Verbs {
			if !slices.Contains(readVerbs, verb) {
				t.Errorf("CRDs may be changed: %+v", rule)
			}
		}
	}
	if !found {
		t.Error("CRDs cannot be watched")
	}
}

// readVerbs are the verbs that only read.
var readVerbs = []string{"get", "list", "watch"}

func TestUserRolesGrantSupersetsOnly(t *testing.T) {
	writeVerbs := []string{"create", "update", "patch", "delete"}
	want := map[string][]string{
		"superset-admin":  slices.Concat(readVerbs, writeVerbs, []string{"deletecollection"}),
		"superset-editor": slices.Concat(readVerbs, writeVerbs),
		"superset-viewer": readVerbs,
	}
	raw, err := os.ReadFile(userRolesFile)
	if err != nil {
		t.Fatal(err)
	}
	for doc := range bytes.SplitSeq(raw, []byte("\n---\n")) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(doc, role); err != nil {
			t.Fatal(err)
		}
		rules := []rbacv1.PolicyRule{
			{APIGroups: []string{"superset.apache.org"}, Resources: []string{"supersets"}, Verbs: want[role.Name]},
			{APIGroups: []string{"superset.apache.org"}, Resources: []string{"supersets/status"}, Verbs: []string{"get"}},
		}
		if diff := cmp.Diff(rules, role.Rules); diff != "" {
			t.Errorf("%s (-want +got):\n%s", role.Name, diff)
		}
		delete(want, role.Name)
	}
	if len(want) > 0 {
		t.Errorf("roles are missing: %v", want)
	}
}

// roles reads the roles of the operator's installation.
func roles(t testing.TB) (*rbacv1.ClusterRole, *rbacv1.Role) {
	t.Helper()
	raw, err := os.ReadFile(roleFile)
	if err != nil {
		t.Fatal(err)
	}
	docs := bytes.Split(raw, []byte("\n---\n"))
	cluster, namespaced := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	for doc, into := range map[int]any{0: cluster, 1: namespaced} {
		if err := yaml.UnmarshalStrict(docs[doc], into); err != nil {
			t.Fatal(err)
		}
	}
	return cluster, namespaced
}

// grant binds the roles to the operator's account: in a namespace, and for cluster-scoped permissions in the cluster.
func grant(t testing.TB, c *cluster.Cluster, namespace string) {
	t.Helper()
	cl := c.Client(t, scheme(t))
	clusterRole, namespaced := roles(t)
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}}
	local, clusterScoped := metav1.ObjectMeta{Namespace: namespace, Name: "operator"}, metav1.ObjectMeta{Name: "operator-" + namespace}
	for _, obj := range []client.Object{
		&rbacv1.Role{ObjectMeta: local, Rules: slices.Concat(clusterRole.Rules, namespaced.Rules)},
		&rbacv1.RoleBinding{
			ObjectMeta: local, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: local.Name},
		},
		&rbacv1.ClusterRole{ObjectMeta: clusterScoped, Rules: slices.DeleteFunc(clusterRole.Rules, func(r rbacv1.PolicyRule) bool {
			return !slices.Contains(r.Resources, "customresourcedefinitions")
		})},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: clusterScoped, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterScoped.Name},
		},
	} {
		if err := cl.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}
