package class

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/backoff"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/predicates"
)

// SetupWithManager adds the controller to the manager. The cache must have the index
// [observe.IndexClass].
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("engineclass").
		For(&v1alpha1.FireboltEngineClass{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: r.shouldReconcile})).
		WithOptions(backoff.Options()).
		Watches(&v1alpha1.FireboltEngine{}, handler.EnqueueRequestsFromMapFunc(classOf), builder.WithPredicates(predicate.Funcs{UpdateFunc: bindingChanged})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("register the class controller: %w", err)
	}
	return nil
}

// shouldReconcile drops the events of our own status writes: the next reconcile already sees them.
func (r *Reconciler) shouldReconcile(u event.UpdateEvent) bool {
	oldObj, okOld := u.ObjectOld.(*v1alpha1.FireboltEngineClass)
	newObj, okNew := u.ObjectNew.(*v1alpha1.FireboltEngineClass)
	if !okOld || !okNew {
		return true
	}
	own := r.written.Observe(newObj)
	return predicates.MetadataDiffers(oldObj, newObj) || !own && !equality.Semantic.DeepEqual(oldObj.Status, newObj.Status)
}

// bindingChanged reports whether an update moves an engine from one class to another. The handler
// enqueues the class of the old object and that of the new one.
func bindingChanged(u event.UpdateEvent) bool { return nameOf(u.ObjectOld) != nameOf(u.ObjectNew) }

// classOf enqueues the class that an engine refers to.
func classOf(_ context.Context, o client.Object) []reconcile.Request {
	name := nameOf(o)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// nameOf returns the name of an engine's class, or an empty string.
func nameOf(o client.Object) string {
	e, ok := o.(*v1alpha1.FireboltEngine)
	if !ok || e.Spec.EngineClassRef == nil {
		return ""
	}
	return *e.Spec.EngineClassRef
}
