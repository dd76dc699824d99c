package superset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/exposure"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/optional"
)

// goneRetry is when to retry after a kind was removed during the reconcile. A CRD that returns enqueues the Superset
// earlier.
const goneRetry = 10 * time.Second

// reasonOptionalKindMissing is the reason of the event for a kind that the spec requires and the cluster does not
// serve.
const reasonOptionalKindMissing = "OptionalKindMissing"

// networking applies the Ingress or the HTTPRoute. The desired one is applied before the other is deleted.
func (r *Reconciler) networking(ctx context.Context, p *pass) (steps.Result, error) {
	ingress, route, err := exposure.Networking(p.sup, p.desired.Components)
	if err != nil {
		return steps.Result{}, err
	}
	var result steps.Result
	if route != nil {
		if result, err = r.optionalObject(ctx, p, r.optional.routes, route); err != nil {
			return result, err
		}
	}
	if err := r.ingress(ctx, p, ingress); err != nil {
		return result, err
	}
	if route == nil {
		return r.optionalObject(ctx, p, r.optional.routes, nil)
	}
	return result, nil
}

func (r *Reconciler) ingress(ctx context.Context, p *pass, want *networkingv1.Ingress) error {
	if n := p.sup.Spec.Networking; want == nil && n != nil && n.Ingress != nil {
		return nil // desired, but cannot be rendered: keep what exists
	}
	var list networkingv1.IngressList
	if err := r.children(ctx, r.client, p, &list); err != nil {
		return fmt.Errorf("list ingresses: %w", err)
	}
	var wanted, existing []client.Object
	if want != nil {
		wanted = append(wanted, want)
	}
	for i := range list.Items {
		existing = append(existing, &list.Items[i])
	}
	return r.keepOnly(ctx, p, wanted, existing)
}

// monitoring applies the ServiceMonitor.
func (r *Reconciler) monitoring(ctx context.Context, p *pass) (steps.Result, error) {
	return r.optionalObject(ctx, p, r.optional.monitors, exposure.ServiceMonitor(p.sup, p.desired.Components))
}

// policies applies one NetworkPolicy per component and deletes those of removed components.
func (r *Reconciler) policies(ctx context.Context, p *pass) (steps.Result, error) {
	var list networkingv1.NetworkPolicyList
	if err := r.children(ctx, r.client, p, &list); err != nil {
		return steps.Result{}, fmt.Errorf("list network policies: %w", err)
	}
	var wanted, existing []client.Object
	for _, policy := range exposure.NetworkPolicies(p.sup, p.desired.Components) {
		wanted = append(wanted, policy)
	}
	for i := range list.Items {
		existing = append(existing, &list.Items[i])
	}
	return steps.Result{}, r.keepOnly(ctx, p, wanted, existing)
}

// optionalObject applies or deletes the object of an optional kind. If the cluster does not serve the kind, it emits
// an event and the reconcile continues; the Superset is enqueued again when the kind is served.
func (r *Reconciler) optionalObject(ctx context.Context, p *pass, kind *optional.Kind, want *unstructured.Unstructured) (steps.Result, error) {
	state, reader := kind.Look()
	switch state {
	case optional.Unknown:
		return steps.Result{}, nil
	case optional.Absent:
		if want != nil && r.optional.missing.first(p.sup, kind.Definition()) {
			// The missing object is the related one: events that differ only in their text are aggregated.
			r.recorder.Eventf(p.sup, want, corev1.EventTypeWarning, reasonOptionalKindMissing, "Reconcile",
				"The cluster does not serve %s, so %s %q is not made; it will be once the definition %s is installed",
				kind.Definition().Kind.GroupVersion(), want.GetKind(), want.GetName(), kind.Definition().Name())
		}
		return steps.Result{}, nil
	case optional.Served:
		r.optional.missing.found(p.sup, kind.Definition())
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.Definition().Kind)
	if err := r.children(ctx, reader, p, list); err != nil {
		return steps.Result{}, fmt.Errorf("list %s: %w", kind.Definition().Resource, err)
	}
	var wanted, existing []client.Object
	if want != nil {
		wanted = append(wanted, want)
	}
	for i := range list.Items {
		existing = append(existing, &list.Items[i])
	}
	err := r.keepOnly(ctx, p, wanted, existing)
	if optional.Gone(err) {
		return steps.Result{Requeue: goneRetry}, nil
	}
	return steps.Result{}, err
}

// children lists the objects with the label of the Superset.
func (r *Reconciler) children(ctx context.Context, c client.Reader, p *pass, list client.ObjectList) error {
	return c.List(ctx, list, client.InNamespace(p.sup.Namespace), client.MatchingFields{observe.ParentIndex: p.sup.Name})
}

// applyOrAdopt applies the desired object over the owned one, or adopts an orphan of that name. own and other may be
// nil.
func (r *Reconciler) applyOrAdopt(ctx context.Context, p *pass, want, own, other client.Object) error {
	if own != nil || other == nil || !observe.Orphan(other, want.GetLabels()) {
		_, err := r.applier.Object(ctx, p.sup, want, own)
		return err
	}
	_, err := r.applier.Object(ctx, p.sup, want, other, apply.WithAdoption())
	if err == nil {
		r.tellAdopted(p.sup, other)
	}
	return err
}

// keepOnly applies the desired objects and deletes all other existing objects that the Superset owns.
func (r *Reconciler) keepOnly(ctx context.Context, p *pass, wanted, existing []client.Object) error {
	surplus, others := map[string]client.Object{}, map[string]client.Object{}
	for _, obj := range existing {
		if metav1.IsControlledBy(obj, p.sup) {
			surplus[obj.GetName()] = obj
		} else {
			others[obj.GetName()] = obj
		}
	}
	var failures []error
	for _, obj := range wanted {
		if err := r.applyOrAdopt(ctx, p, obj, surplus[obj.GetName()], others[obj.GetName()]); err != nil {
			failures = append(failures, err)
		}
		delete(surplus, obj.GetName())
	}
	if len(wanted) > 0 && len(failures) == len(wanted) {
		return join(failures) // keep the objects to replace
	}
	for _, name := range slices.Sorted(maps.Keys(surplus)) {
		if err := r.applier.Delete(ctx, surplus[name]); err != nil {
			failures = append(failures, err)
		}
	}
	return join(failures)
}
