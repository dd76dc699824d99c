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
	long = 90 * time.Second
	// pace is how long to listen for what should not happen.
	pace = 2 * time.Second
	// awake is the reconcile by which the test notices that askers were woken.
	awake = "everybody"
)

// bed is a controller that follows a kind of its own, so that tests can share a cluster.
type bed struct {
	*testing.T
	namespace  string
	client     client.Client
	definition optional.Definition
	kind       *optional.Kind

	mu sync.Mutex
	// reconciled counts by name; first is the state at the first reconcile.
	reconciled map[string]int
	first      optional.State
	requests   []string
}

// newBed prepares a kind that the cluster does not have.
func newBed(t *testing.T) *bed {
	t.Helper()
	c := cluster.Get(t)
	b := &bed{T: t, namespace: c.Namespace(t), client: c.Client(t, scheme.Scheme), reconciled: map[string]int{}}
	group := b.namespace + ".test.flotilla.dev"
	b.definition = optional.Definition{
		Kind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Boat"}, Resource: "boats",
	}
	t.Cleanup(func() {
		err := b.client.Delete(context.Background(), b.crd("v1")) // the test's own context has ended
		if client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
	return b
}

// rights are what a test's operator may read.
type rights struct{ definition, objects bool }

var all = rights{definition: true, objects: true}

// start runs the controller as a user with the given rights: that to the definition
// holds in the cluster, that to the objects in the namespace.
func (b *bed) start(may rights) {
	b.Helper()
	cfg := rest.CopyConfig(cluster.Get(b).Config)
	user := b.user()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	cfg.Wrap(b.count)
	b.grant(user, may)
	skip := true
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
		Logger: logr.Discard(), Controller: config.Controller{SkipNameValidation: &skip},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.kind, err = optional.New(mgr, b.definition, optional.Options{
		Namespaces: []string{b.namespace},
		Selector:   labels.SelectorFromSet(labels.Set{"ours": "yes"}),
		Indexes: map[string]client.IndexerFunc{"fleet": func(o client.Object) []string {
			return []string{o.GetLabels()["fleet"]}
		}},
		Handler: &handler.EnqueueRequestForObject{},
		Wake: func(context.Context) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: awake}}}
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	c, err := controller.New("boats", mgr, controller.Options{Reconciler: reconcile.Func(b.reconcile)})
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Watch(b.kind); err != nil {
		b.Fatal(err)
	}
	b.run(mgr)
}

func (b *bed) user() string { return "system:serviceaccount:" + b.namespace + ":operator" }

func (b *bed) run(mgr ctrl.Manager) {
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Errorf("the manager ended with: %v", err)
		}
	})
}

func (b *bed) grant(user string, may rights) {
	b.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
	verbs := []string{"get", "list", "watch"}
	meta := metav1.ObjectMeta{Namespace: b.namespace, Name: b.namespace}
	var objects []client.Object
	if may.objects {
		objects = append(objects, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{b.definition.Kind.Group}, Resources: []string{b.definition.Resource}, Verbs: verbs,
		}}}, &rbacv1.RoleBinding{
			ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: b.namespace},
		})
	}
	if may.definition {
		objects = append(objects, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"},
			ResourceNames: []string{b.definition.Name()}, Verbs: verbs,
		}}}, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: b.namespace}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: b.namespace},
		})
	}
	for _, obj := range objects {
		if err := b.client.Create(b.Context(), obj); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *bed) reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	state, _ := b.kind.Look()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == "" {
		b.first = state
	}
	b.reconciled[req.Name]++
	return reconcile.Result{}, nil
}

func (b *bed) times(name string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reconciled[name]
}

func (b *bed) count(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if strings.Contains(req.URL.Path, b.definition.Kind.Group) || strings.Contains(req.URL.Path, "customresourcedefinitions") {
			b.mu.Lock()
			b.requests = append(b.requests, req.Method+" "+req.URL.String())
			b.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (b *bed) asked() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// silent checks that nothing is asked of the API server.
func (b *bed) silent() {
	b.Helper()
	before := len(b.asked())
	expect.Never(b, pace, func() error {
		if now := b.asked(); len(now) > before {
			return fmt.Errorf("asked %v", now[before:])
		}
		return nil
	})
}

func (b *bed) becomes(want optional.State) client.Reader {
	b.Helper()
	var reader client.Reader
	expect.Eventually(b, long, func() error {
		state, r := b.kind.Look()
		if state != want || (r != nil) != (want == optional.Served) {
			return fmt.Errorf("state %s, reader %v", state, r)
		}
		reader = r
		return nil
	})
	return reader
}

// crd is the definition, served in one version.
func (b *bed) crd(version string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": b.definition.Name()},
		"spec": map[string]any{
			"group": b.definition.Kind.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": "Boat", "listKind": "BoatList", "plural": "boats", "singular": "boat"},
			"versions": []any{map[string]any{
				"name": version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}}
}

func (b *bed) install(version string) {
	b.Helper()
	if err := b.client.Create(b.Context(), b.crd(version)); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) uninstall() {
	b.Helper()
	definition := b.crd("v1")
	if err := b.client.Delete(b.Context(), definition); err != nil {
		b.Fatal(err)
	}
	expect.Gone(b, b.client, definition)
}

// boat creates an object as soon as the API server takes it.
func (b *bed) boat(name string, marks map[string]string) *unstructured.Unstructured {
	b.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(b.definition.Kind)
	u.SetNamespace(b.namespace)
	u.SetName(name)
	u.SetLabels(marks)
	expect.Eventually(b, long, func() error {
		err := b.client.Create(b.Context(), u)
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
	return u
}
