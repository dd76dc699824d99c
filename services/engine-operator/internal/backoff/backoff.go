// Package backoff defines how soon the controllers retry a failed reconcile.
package backoff

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Max is the maximum delay before a retry. A user who removes the cause of a failure that no watch shows, such as a quota
// or a foreign object, waits no longer than that; the default of controller-runtime is 1000 s.
const Max = time.Minute

// minDelay is the delay before the first retry, as in controller-runtime.
const minDelay = 5 * time.Millisecond

// Options returns the options of a controller.
func Options() controller.Options {
	return controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](minDelay, Max)}
}
