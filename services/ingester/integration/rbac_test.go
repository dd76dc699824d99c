package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
)

const user = "system:serviceaccount:flotilla-system:ingester"

// asIngester returns credentials with the rights of config/rbac/role.yaml and no others,
// so every test here also tests the role.
func asIngester(t testing.TB) *rest.Config {
	t.Helper()
	c := cluster.Get(t).Client(t, clientgoscheme.Scheme)
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
	cfg := restConfig(t)
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

// TestSamplesAreStored applies config/samples as users would, strictly validated.
func TestSamplesAreStored(t *testing.T) {
	b := newBench(t)
	b.start()
	files, err := filepath.Glob("../config/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("samples: %v, %v", files, err)
	}
	strict := client.NewNamespacedClient(client.WithFieldValidation(b.client, "Strict"), b.namespace)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, u); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if u.GetNamespace() != "default" {
			t.Errorf("%s is not in the namespace default", file)
		}
		u.SetNamespace(b.namespace)
		if err := strict.Create(t.Context(), u); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		b.stored(b.finalizer(u))
		b.events(u, "created")
		if strings.HasPrefix(filepath.Base(file), "project") != (u.GetKind() == "Project") {
			t.Errorf("%s holds a %s", file, u.GetKind())
		}
	}
}
