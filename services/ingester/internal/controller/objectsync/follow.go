package objectsync

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// refusals logs why a kind cannot be watched: one line for each reason, not one for each
// of the informer's many retries.
type refusals struct {
	log logr.Logger

	mu   sync.Mutex
	said string
}

// handle is the informer's error handler.
func (r *refusals) handle(ctx context.Context, reflector *cache.Reflector, err error) {
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err.Error() == r.said {
		return
	}
	r.said = err.Error()
	advice := "install the chart ingester-crds"
	if apierrors.IsForbidden(err) {
		advice = "grant the right to this service account; the chart ingester does with rbac.create=true"
	}
	r.log.Info("Waiting to follow the kind", "reason", r.said, "advice", advice)
}

// over logs that the kind is watched, if a line reported that it was not.
func (r *refusals) over() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said != "" {
		r.log.Info("Follows the kind")
	}
}
