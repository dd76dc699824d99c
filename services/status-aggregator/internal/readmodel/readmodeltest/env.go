package readmodeltest

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// SupersetKind is the kind of [Env.Superset].
var SupersetKind = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}

// Env is a namespace of a real cluster, a real bus, and a view of both.
type Env struct {
	*Bus
	Client    client.Client
	Namespace string
	Kinds     registry.Set
	Cache     cache.Cache
	View      *readmodel.View
	Hub       *readmodel.Hub
}

// New starts an environment. The package under test needs a TestMain with a cluster. With a configuration
// the objects are read as its user.
func New(t testing.TB, as *rest.Config) *Env {
	t.Helper()
	c := cluster.Get(t)
	if as == nil {
		as = c.Config
	}
	l := &Env{Bus: NewBus(t), Client: c.Client(t, clientgoscheme.Scheme), Namespace: c.Namespace(t)}
	var err error
	if l.Kinds, err = registry.Managed(); err != nil {
		t.Fatal(err)
	}
	objects, err := cache.New(as, cache.Options{DefaultTransform: observe.Trim})
	if err != nil {
		t.Fatal(err)
	}
	l.Cache = objects
	l.View = readmodel.NewView(readmodel.Config{
		Cache: objects, Bus: l.Own, Kinds: l.Kinds, Cluster: Cluster, Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	l.Hub = l.NewHub(0)
	for _, start := range []func(context.Context) error{objects.Start, l.View.Start} {
		l.Run(start)
	}
	expect.Eventually(t, expect.Long, func() error {
		_, err := l.View.List(readmodel.Filter{})
		return err
	})
	return l
}

// Run runs a function until the end of the test.
func (b *Bus) Run(start func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			b.Error(err)
		}
	})
}

// NewHub starts a hub and waits until it reads the stream.
func (b *Bus) NewHub(queue int) *readmodel.Hub {
	b.Helper()
	h := readmodel.NewHub(readmodel.HubConfig{Bus: b.Own, Cluster: Cluster, Clock: clock.RealClock{}, Log: logr.Discard(), Queue: queue})
	b.Run(h.Start)
	b.WaitForHub(h)
	return h
}

// WaitForHub waits until a hub accepts subscriptions.
func (b *Bus) WaitForHub(h *readmodel.Hub) {
	b.Helper()
	expect.Eventually(b, expect.Long, func() error {
		s, err := h.Subscribe(b.Context(), readmodel.Filter{}, nil)
		if err == nil {
			s.Close()
		}
		return err
	})
}

// Superset creates an object with conditions and without a controller, and returns its reference for messages.
func (l *Env) Superset(name string, conditions ...contract.Condition) contract.Object {
	l.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"environment": "Development", "image": map[string]any{"tag": "6.0.0"}, "secretKey": "x",
		"metastore": map[string]any{"uri": "sqlite:////tmp/x"}, "webServer": map[string]any{"replicas": int64(2)},
	}}}
	u.SetGroupVersionKind(SupersetKind)
	u.SetNamespace(l.Namespace)
	u.SetName(name)
	if err := l.Client.Create(l.Context(), u); err != nil {
		l.Fatal(err)
	}
	o := contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: SupersetKind.Group, Version: SupersetKind.Version, Kind: SupersetKind.Kind},
		Namespace:        l.Namespace, Name: name, UID: string(u.GetUID()), Generation: u.GetGeneration(),
	}
	l.SetStatus(o, "Running", conditions...)
	return o
}

// SetStatus writes the phase and the conditions of a Superset.
func (l *Env) SetStatus(o contract.Object, phase string, conditions ...contract.Condition) {
	l.Helper()
	list := []any{}
	for _, c := range conditions {
		list = append(list, map[string]any{
			"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message, "observedGeneration": int64(1),
			"lastTransitionTime": metav1.NewTime(c.LastTransitionTime).UTC().Format("2006-01-02T15:04:05Z"),
		})
	}
	u := l.object(o)
	u.Object["status"] = map[string]any{"phase": phase, "conditions": list}
	if err := l.Client.Status().Patch(l.Context(), u, client.Merge); err != nil {
		l.Fatal(err)
	}
}

// Delete deletes a Superset.
func (l *Env) Delete(o contract.Object) {
	l.Helper()
	if err := l.Client.Delete(l.Context(), l.object(o)); err != nil {
		l.Fatal(err)
	}
}

func (l *Env) object(o contract.Object) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(SupersetKind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	return u
}
