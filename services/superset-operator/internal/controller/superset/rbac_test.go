package superset_test

import (
	"bytes"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

const (
	roleFile = "../../../config/rbac/role.yaml"
	// account is the user under which all operators of these tests run.
	account = "system:serviceaccount:flotilla-system:superset-operator"
)

func TestTheRoleNamesEverythingAndNoSecrets(t *testing.T) {
	cluster, own := roles(t)
	for _, rule := range slices.Concat(cluster.Rules, own.Rules) {
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

// roles reads the roles that the operator is installed with.
func roles(t testing.TB) (*rbacv1.ClusterRole, *rbacv1.Role) {
	t.Helper()
	raw, err := os.ReadFile(roleFile)
	if err != nil {
		t.Fatal(err)
	}
	docs := bytes.Split(raw, []byte("\n---\n"))
	cluster, own := &rbacv1.ClusterRole{}, &rbacv1.Role{}
	for doc, into := range map[int]any{0: cluster, 1: own} {
		if err := yaml.UnmarshalStrict(docs[doc], into); err != nil {
			t.Fatal(err)
		}
	}
	return cluster, own
}

// grant lets the operator's account do in a namespace what its roles allow, and nothing else.
func grant(t testing.TB, c *cluster.Cluster, namespace string) {
	t.Helper()
	cl := c.Client(t, scheme(t))
	everywhere, own := roles(t)
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"},
		Rules:      slices.Concat(everywhere.Rules, own.Rules),
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "operator"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "operator"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: account}},
	}
	for _, obj := range []client.Object{role, binding} {
		if err := cl.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
}
