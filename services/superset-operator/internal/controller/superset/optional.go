package superset

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/optional"
)

// Kinds that a cluster may not serve.
var (
	httpRoutes = optional.CRD{
		Kind:     schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		Resource: "httproutes",
	}
	serviceMonitors = optional.CRD{
		Kind:     schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		Resource: "servicemonitors",
	}
)

// optionals watch the optional kinds. The zero value reports them as unknown.
type optionals struct {
	routes, monitors *optional.Kind
	missing          *missingKinds
}

// watchOptionalKinds creates the watches of the optional kinds, which are sources of the controller.
func (r *Reconciler) watchOptionalKinds(mgr ctrl.Manager) error {
	var err error
	r.optional.routes, err = r.optionalKind(mgr, httpRoutes, func(s *v1alpha1.SupersetSpec) bool {
		return s.Networking != nil && s.Networking.Gateway != nil
	})
	if err != nil {
		return err
	}
	r.optional.monitors, err = r.optionalKind(mgr, serviceMonitors, func(s *v1alpha1.SupersetSpec) bool {
		return s.Monitoring != nil && s.Monitoring.ServiceMonitor != nil
	})
	return err
}

func (r *Reconciler) optionalKind(mgr ctrl.Manager, d optional.CRD, uses func(*v1alpha1.SupersetSpec) bool) (*optional.Kind, error) {
	return optional.New(mgr, d, optional.Options{
		Namespaces: r.Namespaces,
		Selector:   labels.SelectorFromSet(labels.Set{v1alpha1.LabelName: v1alpha1.NameValue}),
		Indexes:    map[string]client.IndexerFunc{observe.ParentIndex: observe.ParentOf},
		Handler: handler.EnqueueRequestForOwner(
			mgr.GetScheme(), mgr.GetRESTMapper(), &v1alpha1.Superset{}, handler.OnlyControllerOwner()),
		Predicates: []predicate.Predicate{specPredicate()},
		Requests:   func(ctx context.Context) []reconcile.Request { return r.supersetsUsing(ctx, uses) },
	})
}

// supersetsUsing returns the Supersets whose spec uses the kind.
func (r *Reconciler) supersetsUsing(ctx context.Context, uses func(*v1alpha1.SupersetSpec) bool) []reconcile.Request {
	var list v1alpha1.SupersetList
	if err := r.Client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the Supersets that use an optional kind")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if uses(&list.Items[i].Spec) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return out
}

// specPredicate ignores status updates, such as those of an Ingress controller.
func specPredicate() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return metadataDiffers(e.ObjectOld, e.ObjectNew) }}
}

// missingKinds tracks for which generation of a Superset a missing kind was reported, so that each is reported once.
type missingKinds struct {
	mu       sync.Mutex
	reported map[types.NamespacedName]map[string]version
}

// version is one generation of one object.
type version struct {
	uid        types.UID
	generation int64
}

func newMissingKinds() *missingKinds {
	return &missingKinds{reported: map[types.NamespacedName]map[string]version{}}
}

// shouldReport reports whether the missing kind is not reported yet for this generation.
func (m *missingKinds) shouldReport(sup *v1alpha1.Superset, d optional.CRD) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	key, now := client.ObjectKeyFromObject(sup), version{sup.UID, sup.Generation}
	if m.reported[key] == nil {
		m.reported[key] = map[string]version{}
	}
	before := m.reported[key][d.Name()]
	m.reported[key][d.Name()] = now
	return before != now
}

// setServed records that the kind is served, so that it is reported again if it is removed.
func (m *missingKinds) setServed(sup *v1alpha1.Superset, d optional.CRD) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reported[client.ObjectKeyFromObject(sup)], d.Name())
}

func (m *missingKinds) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.reported, key)
}
