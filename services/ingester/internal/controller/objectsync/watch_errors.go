package objectsync

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// watchErrors logs why a kind cannot be watched, once for each reason instead of once for
// each retry of the informer.
type watchErrors struct {
	log logr.Logger

	mu       sync.Mutex
	reported string
}

// handle implements the informer's watch error handler.
func (r *watchErrors) handle(ctx context.Context, reflector *cache.Reflector, err error) {
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err.Error() == r.reported {
		return
	}
	r.reported = err.Error()
	advice := "install the chart ingester-crds"
	if apierrors.IsForbidden(err) {
		advice = "grant this service account the permission; the chart ingester does with rbac.create=true"
	}
	r.log.Info("Waiting to watch the kind", "reason", r.reported, "advice", advice)
}

// recovered logs that the kind is watched, after an earlier failure was logged. The same failure is logged if it recurs.
func (r *watchErrors) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reported != "" {
		r.log.Info("Started to watch the kind")
		r.reported = ""
	}
}
