package restore

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// FromAnnotation names the uid of the row that an object was restored from.
const FromAnnotation = "flotilla.dev/restored-from"

// serverOwned lists the metadata that the API server sets.
var serverOwned = []string{
	"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
	"deletionGracePeriodSeconds", "managedFields", "selfLink",
}

// prepare returns the object to create and, separately, its status. It is pure.
func prepare(stored *unstructured.Unstructured, evicted bool) (*unstructured.Unstructured, any) {
	u := stored.DeepCopy()
	for _, field := range serverOwned {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
	}
	if finalizers := u.GetFinalizers(); !slices.Contains(finalizers, api.IngesterFinalizer) {
		u.SetFinalizers(append(finalizers, api.IngesterFinalizer))
	}
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if evicted {
		delete(annotations, api.ImmutableAnnotation)
	}
	annotations[FromAnnotation] = string(stored.GetUID())
	u.SetAnnotations(annotations)
	status := u.Object["status"]
	delete(u.Object, "status")
	return u, status
}

// skipReason returns the reason not to restore a stored object, or "".
func skipReason(stored *unstructured.Unstructured) string {
	switch {
	case stored.GetDeletionTimestamp() != nil:
		return "the object was terminating"
	case api.IsSet(stored.GetAnnotations(), api.DeletingAnnotation):
		return "the object has the annotation " + api.DeletingAnnotation
	}
	return ""
}

// owners sets the uids of the owner references to those of the current objects, and returns
// the names of the owners that were not found.
func owners(ctx context.Context, c client.Client, u *unstructured.Unstructured) (dropped []string, err error) {
	var kept []metav1.OwnerReference
	for _, ref := range u.GetOwnerReferences() {
		uid, err := ownerUID(ctx, c, u.GetNamespace(), ref)
		if err != nil {
			return nil, err
		}
		if uid == "" {
			dropped = append(dropped, ref.Kind+" "+ref.Name)
			continue
		}
		ref.UID = uid
		kept = append(kept, ref)
	}
	u.SetOwnerReferences(kept)
	if len(kept) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", "ownerReferences")
	}
	return dropped, nil
}

// ownerUID returns "" for an owner that is not found, or that may not be read.
func ownerUID(ctx context.Context, c client.Client, namespace string, ref metav1.OwnerReference) (types.UID, error) {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return "", fmt.Errorf("parse apiVersion of owner %s %s: %w", ref.Kind, ref.Name, err)
	}
	var owner metav1.PartialObjectMetadata
	owner.SetGroupVersionKind(gv.WithKind(ref.Kind))
	err = c.Get(ctx, types.NamespacedName{Namespace: namespace, Name: ref.Name}, &owner)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("get owner %s %s: %w", ref.Kind, ref.Name, err)
	}
	return owner.GetUID(), nil
}

// empty reports whether a status has no content.
func empty(status any) bool {
	m, ok := status.(map[string]any)
	return status == nil || (ok && len(m) == 0)
}
