package rejection_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/rejection"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(cluster.Main(m, cluster.Options{}))
}

// limited returns a client that may only create ConfigMaps, and only in the namespace.
func limited(t *testing.T, namespace string) client.Client {
	t.Helper()
	admin := cluster.Get(t).Client(t, clientgoscheme.Scheme)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "limited"}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: namespace}},
		},
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	cfg := rest.CopyConfig(cluster.Get(t).Config)
	cfg.Impersonate.UserName = namespace
	c, err := client.New(cfg, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, expect.Long, func() error { // a new role applies with a delay
		return c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}, client.DryRunAll)
	})
	return c
}

func TestIsSpecificDistinguishesPolicyFromPermission(t *testing.T) {
	plane := cluster.Get(t)
	namespace := plane.Namespace(t)
	c := limited(t, namespace)
	plane.RejectWrites(t, namespace, "rejected")
	name := metav1.ObjectMeta{Namespace: namespace, Name: "rejected"}
	for title, tc := range map[string]struct {
		object client.Object
		want   bool
	}{
		"a policy":             {&corev1.ConfigMap{ObjectMeta: name}, true},
		"an invalid object":    {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "_"}}, true},
		"a missing permission": {&corev1.Secret{ObjectMeta: name}, false},
		"another namespace":    {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "rejected"}}, false},
	} {
		t.Run(title, func(t *testing.T) {
			err := c.Create(t.Context(), tc.object)
			if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
				t.Fatalf("create: got %v, want a rejection", err)
			}
			got := rejection.IsSpecific(t.Context(), c, rejection.Write{Verb: "create", Object: tc.object}, fmt.Errorf("create: %w", err))
			if got != tc.want {
				t.Errorf("got %t, want %t for %v", got, tc.want, err)
			}
		})
	}
}

func TestIsSpecificRejectsErrorsOfAllObjects(t *testing.T) {
	resource := corev1.Resource("configmaps")
	for _, err := range []error{
		errors.New("connection refused"), context.Canceled, apierrors.NewUnauthorized("expired"),
		apierrors.NewTooManyRequests("overloaded", 1), apierrors.NewServiceUnavailable("starting"),
		apierrors.NewTimeoutError("the database is slow", 1), apierrors.NewServerTimeout(resource, "create", 1),
	} {
		if rejection.IsSpecific(t.Context(), nil, rejection.Write{Verb: "create", Object: &corev1.ConfigMap{}}, err) {
			t.Errorf("%v is specific to the object", err)
		}
	}
}
