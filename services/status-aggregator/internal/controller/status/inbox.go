package status

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Gather is for how long the changes of one object are gathered.
const Gather = 250 * time.Millisecond

// Inbox is where everything that concerns an object is announced: the bus, the
// watch, verdicts on observers. It is the controller's only source.
type Inbox struct {
	// OnStart is called when the controller has begun to take what is announced.
	OnStart func()

	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[contract.Ref]
}

// Add announces that something may have changed. What is announced before the
// controller runs is dropped: OnStart is the time to announce everything.
func (i *Inbox) Add(ref contract.Ref) {
	i.mu.Lock()
	queue := i.queue
	i.mu.Unlock()
	if queue != nil {
		queue.AddAfter(ref, Gather) // an earlier time that is set already stays
	}
}

// Source connects the inbox with the controller's queue.
func (i *Inbox) Source() source.TypedSource[contract.Ref] {
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
