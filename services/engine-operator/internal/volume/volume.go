// Package volume makes the volume of an instance's own database outlive its StatefulSet.
//
// An earlier operator lets Kubernetes delete the volume claim with the StatefulSet: the claim has an owner reference.
// A StatefulSet that retains its claims is not enough, since Kubernetes applies a changed policy only to the claims of
// pods that are ready: the claim of a stopped or failing database would keep its owner.
package volume

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// Patch writes an object, and updates it with the response.
type Patch func(ctx context.Context, o client.Object, patch client.Patch) error

// Claim reads the metadata of the volume claim of an instance's own database.
func Claim(ctx context.Context, r client.Reader, namespace, instance string) (*metav1.PartialObjectMetadata, error) {
	claim := &metav1.PartialObjectMetadata{}
	claim.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"))
	name := names.PostgresClaim(instance)
	if err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim); err != nil {
		return nil, fmt.Errorf("get volume claim %q: %w", name, err)
	}
	return claim, nil
}

// Retain detaches the volume claim of an instance's own database from set, which the instance controls. It restarts no
// pod. It reports whether there was nothing to do: the operator deletes the StatefulSet only then, because Kubernetes
// attaches the claim again if it has not observed the policy yet.
//
// It patches the claim itself, so it depends on no other controller. A terminating claim stays as it is: the data
// is being deleted, for example with the namespace.
func Retain(
	ctx context.Context, r client.Reader, patch Patch, instance string, set *appsv1.StatefulSet,
) (retained bool, err error) {
	claim, err := Claim(ctx, r, set.Namespace, instance)
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if err == nil && claim.DeletionTimestamp != nil {
		return true, nil
	}
	retained = true
	if p := set.Spec.PersistentVolumeClaimRetentionPolicy; p != nil && *p != *render.Retention() {
		before := set.DeepCopy()
		set.Spec.PersistentVolumeClaimRetentionPolicy = render.Retention()
		if err := patch(ctx, set, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return false, fmt.Errorf("patch retention policy of statefulset %q: %w", set.Name, err)
		}
		retained = false
	}
	if claim == nil {
		return retained, nil
	}
	before := claim.DeepCopy()
	claim.OwnerReferences = slices.DeleteFunc(claim.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == set.UID })
	if len(claim.OwnerReferences) == len(before.OwnerReferences) {
		return retained, nil
	}
	if err := patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return false, fmt.Errorf("patch owners of volume claim %q: %w", claim.Name, err)
	}
	return false, nil
}
