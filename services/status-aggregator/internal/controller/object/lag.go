package object

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
)

// maxLag is how long a reconcile waits for the cache to show the version that an observation describes. In a cluster that was
// restored from a backup it never does.
const maxLag = time.Second

// awaitCache repeats the reconcile while the cache lags behind the observation: the write would conflict.
func (r *Reconciler) awaitCache(_ context.Context, s *reconcileState) (steps.Result, error) {
	received, _, ok := r.cfg.Model.Get(s.ref).Pick(string(s.live.GetUID()), func(model.Received) bool { return false })
	if ok && lags(s.live.GetResourceVersion(), received, s.now) {
		return steps.Result{Stop: true, Requeue: Gather}, nil
	}
	return steps.Result{}, nil
}

// lags reports whether an object's version is older than the one that a recent observation describes.
func lags(version string, received model.Received, now time.Time) bool {
	order, err := resourceversion.CompareResourceVersion(version, received.Observation.Object.ResourceVersion)
	return err == nil && order < 0 && received.Live && now.Before(received.ReceivedAt.Add(maxLag))
}
