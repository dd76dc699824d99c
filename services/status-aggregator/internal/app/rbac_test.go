package app

import (
	"bytes"
	"errors"
	"io"
	"os"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// account creates a service account with exactly the permissions of config/rbac,
// and returns its credentials.
func (f *fixture) account() *rest.Config {
	f.t.Helper()
	file, err := os.ReadFile("../../config/rbac/role.yaml")
	if err != nil {
		f.t.Fatal(err)
	}
	f.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: Name, Namespace: f.namespace}})
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(file), len(file))
	for {
		var role rbacv1.ClusterRole // has the fields of both kinds
		err := decoder.Decode(&role)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			f.t.Fatal(err)
		}
		f.grant(role)
	}
	cfg := rest.CopyConfig(f.cluster.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + f.namespace + ":" + Name}
	return cfg
}

// grant grants the account the rules of one document: in the cluster, or in the test's namespace.
func (f *fixture) grant(role rbacv1.ClusterRole) {
	f.t.Helper()
	subject := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: Name, Namespace: f.namespace}}
	reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: Name}
	if role.Kind == "Role" {
		meta := metav1.ObjectMeta{Name: Name, Namespace: f.namespace}
		f.create(&rbacv1.Role{ObjectMeta: meta, Rules: role.Rules})
		f.create(&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: reference})
		return
	}
	reference.Name = f.namespace
	meta := metav1.ObjectMeta{Name: f.namespace}
	f.create(&rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules})
	f.create(&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: reference})
}

func (f *fixture) create(o client.Object) {
	f.t.Helper()
	if err := f.client.Create(f.t.Context(), o); err != nil {
		f.t.Fatalf("create %T %q: %v", o, o.GetName(), err)
	}
}
