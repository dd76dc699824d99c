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
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/statusevents"
)

// requeueNotServed is the delay of the retry after a kind was removed during the reconcile. Creating the CRD again
// enqueues the Superset earlier.
const requeueNotServed = 10 * time.Second

// networking applies the Ingress or the HTTPRoute. The desired one is applied before the other is deleted.
func (r *Reconciler) networking(ctx context.Context, s *reconcileState) (steps.Result, error) {
	ingress, route, err := exposure.Networking(s.sup, s.desired.Components)
	if err != nil {
		return steps.Result{}, err
	}
	if route == nil {
		if err := r.ingress(ctx, s, ingress); err != nil {
			return steps.Result{}, err
		}
		result, _, err := r.optionalObject(ctx, s, r.optional.routes, nil)
		return result, err
	}
	result, served, err := r.optionalObject(ctx, s, r.optional.routes, route)
	if err != nil || !served {
		return result, err // users are served by the Ingress meanwhile
	}
	return result, r.ingress(ctx, s, ingress)
}

func (r *Reconciler) ingress(ctx context.Context, s *reconcileState, want *networkingv1.Ingress) error {
	if n := s.sup.Spec.Networking; want == nil && n != nil && n.Ingress != nil {
		return nil // desired, but cannot be rendered: keep the existing object
	}
	var list networkingv1.IngressList
	if err := r.children(ctx, r.Client, s, &list); err != nil {
		return fmt.Errorf("list ingresses: %w", err)
	}
	var desired, existing []client.Object
	if want != nil {
		desired = append(desired, want)
	}
	for i := range list.Items {
		existing = append(existing, &list.Items[i])
	}
	return r.keepOnly(ctx, s, desired, existing)
}

// monitoring applies the ServiceMonitor.
func (r *Reconciler) monitoring(ctx context.Context, s *reconcileState) (steps.Result, error) {
	result, _, err := r.optionalObject(ctx, s, r.optional.monitors, exposure.ServiceMonitor(s.sup, s.desired.Components))
	return result, err
}

// policies applies one NetworkPolicy per component and deletes those of removed components.
func (r *Reconciler) policies(ctx context.Context, s *reconcileState) (steps.Result, error) {
	var list networkingv1.NetworkPolicyList
	if err := r.children(ctx, r.Client, s, &list); err != nil {
		return steps.Result{}, fmt.Errorf("list network policies: %w", err)
	}
	var desired, existing []client.Object
	for _, policy := range exposure.NetworkPolicies(s.sup, s.desired.Components) {
		desired = append(desired, policy)
	}
	for i := range list.Items {
		existing = append(existing, &list.Items[i])
	}
	return steps.Result{}, r.keepOnly(ctx, s, desired, existing)
}

// optionalObject applies or deletes the object of an optional kind. If the cluster does not serve the kind, it emits
// an event and the reconcile continues; the Superset is enqueued again when the kind is served. If the kind cannot be read,
// for example with a role that lacks it, the desired object is an error.
func (r *Reconciler) optionalObject(ctx context.Context, s *reconcileState, kind *optional.Kind, want *unstructured.Unstructured) (result steps.Result, served bool, err error) {
	state, reader := kind.State()
	switch state {
	case optional.Unknown:
		if want == nil {
			return steps.Result{}, false, nil
		}
		return steps.Result{}, false, kind.Err()
	case optional.Absent:
		if want != nil && r.optional.missing.ShouldReport(s.sup, kind.CRD()) {
			// The missing object is the related object of the event, since events that differ only in their
			// message are aggregated.
			r.Recorder.Eventf(s.sup, want, corev1.EventTypeWarning, statusevents.EventOptionalKindMissing, "Reconcile",
				"%s is not installed; %s %q is created once CRD %s is available.",
				kind.CRD().Kind.GroupVersion(), want.GetKind(), want.GetName(), kind.CRD().Name())
		}
		return steps.Result{}, false, nil
	case optional.Served:
		r.optional.missing.SetServed(s.sup, kind.CRD())
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.CRD().Kind)
	if err := r.children(ctx, reader, s, list); err != nil {
		return steps.Result{}, false, fmt.Errorf("list %s: %w", kind.CRD().Resource, err)
	}
	var desired, existing []client.Object
	if want != nil {
		desired = append(desired, want)
	}
	for i := range list.Items {
		existing = append(existing, &list.Items[i])
	}
	err = r.keepOnly(ctx, s, desired, existing)
	if optional.IsNotServed(err) {
		return steps.Result{Requeue: requeueNotServed}, false, nil
	}
	return steps.Result{}, err == nil, err
}

// children lists the objects with the label of the Superset.
func (r *Reconciler) children(ctx context.Context, c client.Reader, s *reconcileState, list client.ObjectList) error {
	return c.List(ctx, list, client.InNamespace(s.sup.Namespace), client.MatchingFields{observe.ParentIndex: s.sup.Name})
}

// applyOrAdopt applies the desired object over the owned one, or adopts an orphan of that name. owned and other may be
// nil.
func (r *Reconciler) applyOrAdopt(ctx context.Context, s *reconcileState, want, owned, other client.Object) error {
	if owned != nil || other == nil || !observe.IsOrphan(other, want.GetLabels()) {
		_, err := r.applier.Object(ctx, s.sup, want, owned)
		return err
	}
	_, err := r.applier.Object(ctx, s.sup, want, other, apply.WithAdoption())
	if err == nil {
		r.recordAdopted(s.sup, other)
	}
	return err
}

// keepOnly applies the desired objects and deletes all other existing objects that the Superset owns.
func (r *Reconciler) keepOnly(ctx context.Context, s *reconcileState, desired, existing []client.Object) error {
	owned, others := map[string]client.Object{}, map[string]client.Object{}
	for _, obj := range existing {
		if metav1.IsControlledBy(obj, s.sup) {
			owned[obj.GetName()] = obj
		} else {
			others[obj.GetName()] = obj
		}
	}
	var failures []error
	for _, obj := range desired {
		if err := r.applyOrAdopt(ctx, s, obj, owned[obj.GetName()], others[obj.GetName()]); err != nil {
			failures = append(failures, err)
		}
		delete(owned, obj.GetName())
	}
	if len(desired) > 0 && len(failures) == len(desired) {
		return join(failures...) // keep the objects to replace
	}
	for _, name := range slices.Sorted(maps.Keys(owned)) {
		if err := r.applier.Delete(ctx, owned[name]); err != nil {
			failures = append(failures, err)
		}
	}
	return join(failures...)
}
