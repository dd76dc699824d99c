package integration

import (
	"bytes"
	"os"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

const user = "system:serviceaccount:flotilla-system:ingester"

// asIngester returns credentials with only the permissions of config/rbac/role.yaml, so
// every test here also tests the role.
func asIngester(t testing.TB, plane *cluster.Cluster) *rest.Config {
	t.Helper()
	c := plane.Client(t, clientgoscheme.Scheme)
	role := clusterRole(t)
	binding := &rbacv1.ClusterRoleBinding{
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	}
	binding.Name = role.Name
	for _, object := range []client.Object{role, binding} {
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), object)); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(plane.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	return cfg
}

func clusterRole(t testing.TB) *rbacv1.ClusterRole {
	t.Helper()
	raw, err := os.ReadFile("../config/rbac/role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	first, _, _ := bytes.Cut(raw, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(first, role); err != nil {
		t.Fatal(err)
	}
	return role
}
