package optional_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/optional"
)

const (
	timeout = expect.Long
	// quietPeriod is the time in which an unwanted event must not occur.
	quietPeriod = 2 * time.Second
	// ownersRequest is the request that shows that the owners were enqueued.
	ownersRequest = "everybody"
)

// env is a controller that watches a separate kind, so that tests can share a cluster.
type env struct {
	*testing.T
	namespace string
	client    client.Client
	crd       optional.CRD
	kind      *optional.Kind

	mu sync.Mutex
	// reconciled counts the reconciles by name; first is the state at the first reconcile.
	reconciled map[string]int
	first      optional.State
	requests   []string
}

// newEnv prepares a kind that the cluster does not have.
func newEnv(t *testing.T) *env {
	t.Helper()
	c := cluster.Get(t)
	e := &env{T: t, namespace: c.Namespace(t), client: c.Client(t, scheme.Scheme), reconciled: map[string]int{}}
	group := e.namespace + ".test.flotilla.dev"
	e.crd = optional.CRD{
		Kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Boat"}, Resource: "boats",
	}
	t.Cleanup(func() {
		err := e.client.Delete(context.Background(), e.manifest("v1")) // the context of the test has ended
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return e
}

// permissions are the objects that the operator may read.
type permissions struct{ crd, objects bool }

var all = permissions{crd: true, objects: true}

// start runs the controller as a user with the given permissions: on the CRD in the cluster, on the objects in the
// namespace.
func (e *env) start(granted permissions) {
	e.Helper()
	cfg := rest.CopyConfig(cluster.Get(e).Config)
	user := e.user()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	cfg.Wrap(e.count)
	e.grant(user, granted)
	skip := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
		Logger: logr.Discard(), Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		e.Fatal(err)
	}
	e.kind, err = optional.New(mgr, e.crd, optional.Options{
		Namespaces: []string{e.namespace},
		Selector:   labels.SelectorFromSet(labels.Set{"ours": "yes"}),
		Indexes: map[string]client.IndexerFunc{"fleet": func(o client.Object) []string {
			return []string{o.GetLabels()["fleet"]}
		}},
		Handler: &handler.EnqueueRequestForObject{},
		Requests: func(context.Context) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: ownersRequest}}}
		},
	})
	if err != nil {
		e.Fatal(err)
	}
	c, err := controller.New("boats", mgr, controller.Options{Reconciler: reconcile.Func(e.reconcile)})
	if err != nil {
		e.Fatal(err)
	}
	if err := c.Watch(e.kind); err != nil {
		e.Fatal(err)
	}
	e.run(mgr)
}

func (e *env) user() string { return "system:serviceaccount:" + e.namespace + ":operator" }

func (e *env) run(mgr ctrl.Manager) {
	ctx, cancel := context.WithCancel(e.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	e.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			e.Errorf("the manager returned: %v", err)
		}
	})
}

func (e *env) grant(user string, granted permissions) {
	e.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	verbs := []string{"get", "list", "watch"}
	meta := metav1.ObjectMeta{Namespace: e.namespace, Name: e.namespace}
	var objects []client.Object
	if granted.objects {
		objects = append(objects, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{e.crd.Kind.Group}, Resources: []string{e.crd.Resource}, Verbs: verbs,
		}}}, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: e.namespace},
		})
	}
	if granted.crd {
		objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			ResourceNames: []string{e.crd.Name()}, Verbs: verbs,
		}}}, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: e.namespace}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: e.namespace},
		})
	}
	for _, obj := range objects {
		if err := e.client.Create(e.Context(), obj); err != nil {
			e.Fatal(err)
		}
	}
}

func (e *env) reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	state, _ := e.kind.State()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == "" {
		e.first = state
	}
	e.reconciled[req.Name]++
	return reconcile.Result{}, nil
}

func (e *env) times(name string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reconciled[name]
}

func (e *env) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.Contains(req.URL.Path, e.crd.Kind.Group) || strings.Contains(req.URL.Path, "customresourcedefinitions") {
			e.mu.Lock()
			e.requests = append(e.requests, req.Method+" "+req.URL.String())
			e.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (e *env) requested() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.requests...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// requestFree checks that no request reaches the API server.
func (e *env) requestFree() {
	e.Helper()
	before := len(e.requested())
	expect.Never(e, quietPeriod, func() error {
		if now := e.requested(); len(now) > before {
			return fmt.Errorf("requested %v", now[before:])
		}
		return nil
	})
}

func (e *env) waitState(want optional.State) client.Reader {
	e.Helper()
	var reader client.Reader
	expect.Eventually(e, timeout, func() error {
		state, r := e.kind.State()
		if err := e.kind.Err(); state != want || (r != nil) != (want == optional.Served) || err != nil && want != optional.Unknown {
			return fmt.Errorf("state %s, reader %v, error %w", state, r, err)
		}
		reader = r
		return nil
	})
	return reader
}

// manifest returns the CRD, served in one version.
func (e *env) manifest(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": e.crd.Name()},
		"spec": map[string]any{
			"group": e.crd.Kind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Boat", "listKind": "BoatList", "plural": "boats", "singular": "boat"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

func (e *env) install(version string) {
	e.Helper()
	if err := e.client.Create(e.Context(), e.manifest(version)); err != nil {
		e.Fatal(err)
	}
}

func (e *env) uninstall() {
	e.Helper()
	crd := e.manifest("v1")
	if err := e.client.Delete(e.Context(), crd); err != nil {
		e.Fatal(err)
	}
	expect.Deleted(e, e.client, crd)
}

// createObject creates an object once the API server accepts it.
func (e *env) createObject(name string, objLabels map[string]string) *unstructured.Unstructured {
	e.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(e.crd.Kind)
	u.SetNamespace(e.namespace)
	u.SetName(name)
	u.SetLabels(objLabels)
	expect.Eventually(e, timeout, func() error {
		err := e.client.Create(e.Context(), u)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	return u
}
