package httpapi

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// get answers with one object: from the cluster, or from storage when the cluster says
// that it is not there. Only "not there" leads on: any other failure of either is a failure.
func (a *handlers) get(w http.ResponseWriter, r *http.Request, t target) error {
	object, source, err := a.find(r.Context(), t)
	if err != nil {
		return err
	}
	return respond(w, r, http.StatusOK, source, object)
}

// find returns an object and where it was.
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
