package instance

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/adopt"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// workloadSpec is a workload to apply.
type workloadSpec struct {
	desired, live client.Object // live is nil if it does not exist
	config        *corev1.ConfigMap
	// matchesSpec is true when the live workload matches the user's part of the spec.
	matchesSpec bool
}

// workload applies a workload after its configuration. An adopted workload of an earlier operator
// and its configuration stay unchanged until the desired state changes.
func (r *Reconciler) workload(ctx context.Context, s *reconcileState, w workloadSpec) error {
	if w.live != nil {
		switch adopt.Decide(w.desired, w.live, w.matchesSpec) {
		case adopt.Annotate:
			return r.annotateAdopted(ctx, w.desired, w.live)
		case adopt.Skip:
			return nil
		case adopt.Apply:
		}
	}
	if w.config != nil {
		if err := r.ensure(ctx, s, w.config, &corev1.ConfigMap{}); err != nil {
			return err
		}
	}
	_, err := r.applier.Object(ctx, s.instance, w.desired, w.live)
	return err
}

// annotateAdopted records on a workload of an earlier operator that it is adopted, and makes a
// database keep its volume. It does not change the pods.
func (r *Reconciler) annotateAdopted(ctx context.Context, desired, live client.Object) error {
	after, ok := live.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("copy %T %q: not an object", live, live.GetName())
	}
	adopt.Note(desired, after)
	if set, isSet := after.(*appsv1.StatefulSet); isSet && set.Spec.PersistentVolumeClaimRetentionPolicy != nil {
		set.Spec.PersistentVolumeClaimRetentionPolicy = render.Retention()
	}
	err := r.Client.Patch(ctx, after, client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{}), client.FieldOwner(names.FieldManager))
	if err != nil {
		return fmt.Errorf("adopt %T %q: %w", live, live.GetName(), err)
	}
	return nil
}

// matchesSpec reports whether a live Deployment matches the user's part of the spec.
func matchesSpec(user *corev1.PodTemplateSpec, desired, live *appsv1.Deployment) bool {
	return live == nil || adopt.MatchesSpec(user, desired, live)
}

// present returns an untyped nil for a typed nil.
func present[T any, P interface {
	*T
	client.Object
}](o P) client.Object {
	if o == nil {
		return nil
	}
	return o
}
