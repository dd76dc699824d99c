package object

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Debounce is the time over which the changes of one object are debounced.
const Debounce = 250 * time.Millisecond

// Queue enqueues objects for the bus, the watch and changes of observer state. It is
// the controller's only source.
type Queue struct {
	// OnStart is called when the controller has started to accept objects.
	OnStart func()

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[contract.Ref]
}

// Add enqueues an object. Objects that are added before the controller runs are dropped: OnStart
// must enqueue all of them.
func (i *Queue) Add(ref contract.Ref) {
	i.mu.Lock()
	queue := i.queue
	i.mu.Unlock()
	if queue != nil {
		queue.AddAfter(ref, Debounce) // keeps an earlier time
	}
}

// Source connects to the controller's work queue.
func (i *Queue) Source() source.TypedSource[contract.Ref] {
	return source.TypedFunc[contract.Ref](func(_ context.Context, q workqueue.TypedRateLimitingInterface[contract.Ref]) error {
		i.mu.Lock()
		i.queue = q
		i.mu.Unlock()
		if i.OnStart != nil {
			i.OnStart()
		}
		return nil
	})
}
