package objectsync

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
)

// resync enqueues all objects of a running controller.
type resync struct {
	mu      sync.Mutex
	enqueue func(*object.Object) // nil until the controller runs
	since   time.Time            // of the last resync, at first the start of the controller
}

// Resync enqueues all objects, with low priority, to compare them with their rows. Commits since the given time may be lost. It
// does nothing before the controller runs, which starts with all objects.
func (r *Reconciler) Resync(since time.Time) {
	enqueue := r.resync.begin(since)
	if enqueue == nil {
		return
	}
	for _, informer := range r.client.informers {
		informer.initialList.each(enqueue) // while it arrives
		for _, item := range informer.GetStore().List() {
			if o, ok := item.(*object.Object); ok {
				enqueue(o)
			}
		}
	}
}

// startResync implements a source, which enqueues objects on [Reconciler.Resync].
func (r *Reconciler) startResync(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.resync.mu.Lock()
	defer r.resync.mu.Unlock()
	r.resync.since, r.resync.enqueue = r.config.Clock.Now(), enqueueIn(ctx, queue)
	return nil
}

func (s *resync) begin(since time.Time) (enqueue func(*object.Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = since
	return s.enqueue
}

// precedes reports whether an event precedes the commits that the last resync repeats: a reconcile of its object may have another cause.
func (s *resync) precedes(received time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return received.Before(s.since)
}
