package object

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const (
	// Debounce is the time over which the changes of one object are debounced.
	Debounce = 250 * time.Millisecond
	// Gather is the time for which an observation waits for others of the same moment, and for the watch to deliver the version
	// of the object that it describes.
	Gather = 25 * time.Millisecond
)

// Queue enqueues objects for the bus, the watch and changes of observer state. It is
// the controller's only source.
type Queue struct {
	// OnStart is called when the controller has started to accept objects.
	OnStart func()

	clock clock.PassiveClock

	mu     sync.Mutex
	queue  workqueue.TypedRateLimitingInterface[contract.Ref]
	starts map[contract.Ref]time.Time // of the latest reconcile of an object; may lack those before Debounce
	pruned time.Time
}

// NewQueue returns an empty Queue.
func NewQueue(clk clock.PassiveClock) *Queue {
	return &Queue{clock: clk, starts: map[contract.Ref]time.Time{}}
}

// Add enqueues an object after [Debounce]. Objects that are added before the controller runs are dropped: OnStart
// must enqueue all of them.
func (q *Queue) Add(ref contract.Ref) { q.add(ref, Debounce) }

// AddObserved enqueues an object for which an observation arrived: after [Gather], but no sooner than [Debounce] after its latest
// reconcile. An observation is complete, while the operator's observation often follows a change that the watch delivers.
func (q *Queue) AddObserved(ref contract.Ref) {
	q.mu.Lock()
	start, found := q.starts[ref]
	q.mu.Unlock()
	after := Gather
	if found {
		after = max(after, start.Add(Debounce).Sub(q.clock.Now()))
	}
	q.add(ref, after)
}

func (q *Queue) add(ref contract.Ref, after time.Duration) {
	q.mu.Lock()
	queue := q.queue
	q.mu.Unlock()
	if queue != nil {
		queue.AddAfter(ref, after) // keeps an earlier time
	}
}

// record wraps the controller's reconciler to record the starts of reconciles.
func (q *Queue) record(next reconcile.TypedReconciler[contract.Ref]) reconcile.TypedReconciler[contract.Ref] {
	return reconcile.TypedFunc[contract.Ref](func(ctx context.Context, ref contract.Ref) (reconcile.Result, error) {
		q.started(ref)
		return next.Reconcile(ctx, ref)
	})
}

func (q *Queue) started(ref contract.Ref) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if now.Sub(q.pruned) >= Debounce {
		maps.DeleteFunc(q.starts, func(_ contract.Ref, start time.Time) bool { return now.Sub(start) >= Debounce })
		q.pruned = now
	}
	q.starts[ref] = now
}

// Source connects to the controller's work queue.
func (q *Queue) Source() source.TypedSource[contract.Ref] {
	return source.TypedFunc[contract.Ref](func(_ context.Context, queue workqueue.TypedRateLimitingInterface[contract.Ref]) error {
		q.mu.Lock()
		q.queue = queue
		q.mu.Unlock()
		if q.OnStart != nil {
			q.OnStart()
		}
		return nil
	})
}
