package httpapi

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// get returns one object: from the cluster, or from storage if the cluster does not have it.
// Only "not found" falls back to storage; any other failure is returned.
func (a *handlers) get(w http.ResponseWriter, r *http.Request, t target) error {
	object, source, err := a.find(r.Context(), t)
	if err != nil {
		return err
	}
	return respond(w, r, http.StatusOK, source, object)
}

// find returns an object and its source.
func (a *handlers) find(ctx context.Context, t target) (*unstructured.Unstructured, string, error) {
	object, err := a.cluster.Get(ctx, t.kind, t.namespace, t.name)
	if err == nil {
		return object, sourceCluster, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, "", clusterError(err)
	}
	object = t.object()
	if err := a.store.GetByName(ctx, t.namespace, t.name, object); err != nil {
		return nil, "", fmt.Errorf("read %s %s/%s: %w", t.kind.Name, t.namespace, t.name, err)
	}
	return object, sourceStorage, nil
}
