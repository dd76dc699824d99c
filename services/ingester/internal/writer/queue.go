package writer

import (
	"sort"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// request is one record that waits, and its answer.
type request struct {
	record  *record.Record
	since   time.Time
	span    trace.Span    // of the caller
	done    chan struct{} // closed when outcome and err are set
	outcome Outcome
	err     error
}

// linger is how long a request may wait for others while some batch is in flight anyway.
// Small batches would cost the server, and thus every caller, more time than the wait.
// When nothing is in flight, requests do not wait.
const linger = 10 * time.Millisecond

// queue gathers requests by kind. The kind whose request has waited longest is
// served first.
type queue struct {
	maxRows, maxBytes int
	clock             clock.Clock

	mu      sync.Mutex
	ready   *sync.Cond
	waiting map[*registry.Kind][]*request
	order   []*registry.Kind // kinds with waiting requests, the next one first
	busy    map[string]bool  // uids that are being written
	writing int              // batches that are being written
	alarm   bool             // a timer is set that signals the slots when a request has lingered
	closed  bool
}

func newQueue(maxRows, maxBytes int) *queue {
	q := &queue{maxRows: maxRows, maxBytes: maxBytes, clock: clock.RealClock{}, waiting: map[*registry.Kind][]*request{}, busy: map[string]bool{}}
	q.ready = sync.NewCond(&q.mu)
	return q
}

// put adds a request; false means that the queue is closed.
func (q *queue) put(req *request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	kind := req.record.Kind
	if len(q.waiting[kind]) == 0 {
		q.order = append(q.order, kind)
	}
	q.waiting[kind] = append(q.waiting[kind], req)
	q.ready.Signal()
	return true
}

// take returns the next batch, in the order of the uids, or nil once the queue is
// closed and empty. Of each object one request is in flight at a time, in this batch and
// all others; [queue.done] makes way for the next one.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if batch := q.next(); len(batch) > 0 {
			q.writing++
			sort.Slice(batch, func(i, j int) bool { return batch[i].record.UID < batch[j].record.UID })
			return batch
		}
		if q.closed && len(q.order) == 0 {
			return nil
		}
		q.ready.Wait()
	}
}

// done marks a batch as written.
func (q *queue) done(batch []*request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, req := range batch {
		delete(q.busy, req.record.UID)
	}
	q.writing--
	if len(q.order) > 0 {
		q.ready.Broadcast()
	}
}

// next takes a batch of the first kind that has one, and puts the kind last.
func (q *queue) next() []*request {
	for i, kind := range q.order {
		if !q.due(q.waiting[kind]) {
			continue
		}
		batch, rest := q.split(q.waiting[kind])
		if len(batch) == 0 {
			continue
		}
		q.order = append(q.order[:i:i], q.order[i+1:]...)
		delete(q.waiting, kind)
		if len(rest) > 0 {
			q.waiting[kind] = rest
			q.order = append(q.order, kind)
			q.ready.Signal()
		}
		return batch
	}
	return nil
}

// due reports whether requests have waited long enough; if not, it makes sure that the
// slots are signaled when they have.
func (q *queue) due(waiting []*request) bool {
	if q.writing == 0 || q.closed || len(waiting) >= q.maxRows {
		return true
	}
	left := linger - q.clock.Since(waiting[0].since)
	if left <= 0 {
		return true
	}
	if !q.alarm {
		q.alarm = true
		go q.wakeAfter(left)
	}
	return false
}

func (q *queue) wakeAfter(d time.Duration) {
	<-q.clock.After(d)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm = false
	q.ready.Broadcast()
}

func (q *queue) split(waiting []*request) (batch, rest []*request) {
	size := 0
	for i, req := range waiting {
		full := len(batch) == q.maxRows || (len(batch) > 0 && size+req.record.Size() > q.maxBytes)
		if full {
			return batch, append(rest, waiting[i:]...)
		}
		if q.busy[req.record.UID] {
			rest = append(rest, req)
			continue
		}
		q.busy[req.record.UID] = true
		size += req.record.Size()
		batch = append(batch, req)
	}
	return batch, rest
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
