package superset_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestPolicyLimitsEditors applies the policy of the guide, and edits Supersets as a user without and with the permission
// to create the objects.
func TestPolicyLimitsEditors(t *testing.T) {
	t.Parallel()
	c := cluster.Get(t)
	e := &env{t: t, namespace: c.Namespace(t), client: c.Client(t, scheme(t))}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}}
	label := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"superset-editors":"limited"}}}`))
	if err := e.client.Patch(t.Context(), namespace, label); err != nil {
		t.Fatal(err)
	}
	for _, obj := range policyOfGuide(t) {
		if err := client.WithFieldValidation(e.client, "Strict").Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.client.Delete(context.WithoutCancel(t.Context()), obj); err != nil {
				t.Error(err)
			}
		})
	}
	supersets := rbacv1.PolicyRule{APIGroups: []string{"superset.apache.org"}, Resources: []string{"supersets"}, Verbs: []string{"*"}}
	editor := e.user(c, "editor", supersets)
	admin := e.user(c, "admin", supersets, rbacv1.PolicyRule{
		APIGroups: []string{"", "networking.k8s.io", "gateway.networking.k8s.io", "monitoring.coreos.com"},
		Resources: []string{"serviceaccounts", "ingresses", "httproutes", "servicemonitors"}, Verbs: []string{"create"},
	})
	for kind, edit := range map[string]func(*v1alpha1.Superset){
		"ServiceAccounts": func(s *v1alpha1.Superset) {
			s.Spec.ServiceAccount = &v1alpha1.ServiceAccountSpec{Annotations: map[string]string{"iam.gke.io/gcp-service-account": "owner"}}
		},
		"Ingresses": withIngress("bi.example.org"), "HTTPRoutes": withGateway("bi.example.org"), "ServiceMonitors": withMonitor,
	} {
		sup := e.sample("development.yaml", edit, func(s *v1alpha1.Superset) { s.Name = strings.ToLower(kind) })
		expect.Eventually(t, timeout, func() error {
			err := editor.Create(t.Context(), sup.DeepCopy(), client.DryRunAll)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "requires the permission to create "+kind) {
				return fmt.Errorf("%s: got error %w", kind, err)
			}
			return nil
		})
		if err := admin.Create(t.Context(), sup); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		metadata := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"a"}}}`))
		if err := editor.Patch(t.Context(), sup, metadata); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if err := editor.Create(t.Context(), e.sample("development.yaml")); err != nil {
		t.Errorf("a Superset without such fields: %v", err)
	}
}

// user returns a client of a user with permissions in the namespace.
func (e *env) user(c *cluster.Cluster, name string, rules ...rbacv1.PolicyRule) client.Client {
	e.t.Helper()
	meta := metav1.ObjectMeta{Namespace: e.namespace, Name: name}
	for _, obj := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		},
	} {
		if err := e.client.Create(e.t.Context(), obj); err != nil {
			e.t.Fatal(err)
		}
	}
	config := rest.CopyConfig(c.Config)
	config.Impersonate.UserName = name
	user, err := client.New(config, client.Options{Scheme: scheme(e.t)})
	if err != nil {
		e.t.Fatal(err)
	}
	return user
}

// policyOfGuide reads the admission policy and its binding from the guide.
func policyOfGuide(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	guide, err := os.ReadFile("../../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := bytes.Cut(guide, []byte("### Limit what editors may create"))
	_, block, _ := bytes.Cut(section, []byte("```yaml\n"))
	block, _, found := bytes.Cut(block, []byte("```\n"))
	if !found {
		t.Fatal("the guide has no policy")
	}
	var out []*unstructured.Unstructured
	for doc := range bytes.SplitSeq(block, []byte("---\n")) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(doc, &obj.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}
