// Package rejection distinguishes a write that the API server rejects because of its object
// from one that fails for all objects of the kind. A command that writes many objects
// continues after the first and ends at the second.
package rejection

import (
	"context"
	"errors"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Write is a write that failed.
type Write struct {
	// Verb of the API server: create, update, patch, delete.
	Verb   string
	Object client.Object
	// Subresource is empty for the object itself.
	Subresource string
}

// IsSpecific reports whether err, the error of the write, is specific to its object, so that the same write of another
// object may succeed. An admission webhook, a policy or the schema rejects an object. A missing permission, invalid
// credentials, an API server that is overloaded or unavailable, and a lost connection concern all objects.
//
// Admission and a missing permission have the same code, 403. A SelfSubjectAccessReview distinguishes them; every
// authenticated user may create one.
func IsSpecific(ctx context.Context, c client.Client, w Write, err error) bool {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status), apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return false
	case apierrors.IsForbidden(err):
		return isPermitted(ctx, c, w)
	}
	return true
}

// isPermitted returns false if it cannot find out: the write's own error is the more useful one.
func isPermitted(ctx context.Context, c client.Client, w Write) bool {
	gvk, err := c.GroupVersionKindFor(w.Object)
	if err != nil {
		return false
	}
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return false
	}
	attributes := &authorizationv1.ResourceAttributes{
		Verb: w.Verb, Group: gvk.Group, Version: gvk.Version, Resource: mapping.Resource.Resource, Subresource: w.Subresource,
		Namespace: w.Object.GetNamespace(), Name: w.Object.GetName(),
	}
	if w.Verb == "create" && w.Subresource == "" {
		attributes.Name = "" // the API server authorizes a creation without the name
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
	return c.Create(ctx, review) == nil && review.Status.Allowed
}
