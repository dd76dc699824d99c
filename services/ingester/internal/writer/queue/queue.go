// Package queue collects the requests of the writer into batches of one kind.
package queue

import (
	"slices"
	"sort"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer/decision"
)

// Request is one waiting record, and its result.
type Request struct {
	Record  *record.Record
	Since   time.Time     // when the caller began to wait
	Span    trace.Span    // of the caller
	Done    chan struct{} // closed when Outcome and Err are set
	Outcome decision.Outcome
	Err     error
}

// batchDelay is how long a request may wait for others while another batch is in flight.
// Small batches would cost the server, and thus every caller, more time than the wait.
// While no batch is in flight, requests do not wait.
const batchDelay = 10 * time.Millisecond

// Queue collects requests by kind. It serves the kind whose request has waited longest first.
type Queue struct {
	maxRows, maxBytes int
	clock             clock.Clock

	mu         sync.Mutex
	ready      *sync.Cond
	waiting    map[*registry.Kind][]*Request
	order      []*registry.Kind // kinds with waiting requests, the next one first
	inProgress map[string]bool  // uids that are being written
	writing    int              // batches that are being written
	timer      bool             // a timer is set that signals the slots when a request has lingered
	closed     bool
}

// New returns an empty queue whose batches have at most maxRows records and maxBytes bytes.
func New(maxRows, maxBytes int, c clock.Clock) *Queue {
	q := &Queue{maxRows: maxRows, maxBytes: maxBytes, clock: c, waiting: map[*registry.Kind][]*Request{}, inProgress: map[string]bool{}}
	q.ready = sync.NewCond(&q.mu)
	return q
}

// Add adds a request and reports whether the queue is open.
func (q *Queue) Add(req *Request) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	kind := req.Record.Kind
	if len(q.waiting[kind]) == 0 {
		q.order = append(q.order, kind)
	}
	q.waiting[kind] = append(q.waiting[kind], req)
	q.ready.Signal()
	return true
}

// Remove removes a request that still waits, so that the requests of callers that left do not pile up. A
// request of a batch is not affected.
func (q *Queue) Remove(req *Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	kind := req.Record.Kind
	waiting := q.waiting[kind]
	i := slices.Index(waiting, req)
	if i < 0 {
		return
	}
	if len(waiting) > 1 {
		q.waiting[kind] = slices.Delete(waiting, i, i+1)
		return
	}
	delete(q.waiting, kind)
	i = slices.Index(q.order, kind)
	q.order = slices.Delete(q.order, i, i+1)
	if q.closed {
		q.ready.Broadcast() // Take ends once the queue is empty
	}
}

// Take returns the next batch, in the order of the uids, or nil once the queue is
// closed and empty. Of each object one request is in flight at a time, in this batch and
// all others; [Queue.Release] allows the next one.
func (q *Queue) Take() []*Request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if batch := q.next(); len(batch) > 0 {
			q.writing++
			sort.Slice(batch, func(i, j int) bool { return batch[i].Record.UID < batch[j].Record.UID })
			return batch
		}
		if q.closed && len(q.order) == 0 {
			return nil
		}
		q.ready.Wait()
	}
}

// Release marks a batch as written.
func (q *Queue) Release(batch []*Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, req := range batch {
		delete(q.inProgress, req.Record.UID)
	}
	q.writing--
	if len(q.order) > 0 {
		q.ready.Broadcast()
	}
}

// next takes a batch of the first kind that has one, and moves the kind to the end.
func (q *Queue) next() []*Request {
	for i, kind := range q.order {
		if !q.due(q.waiting[kind]) {
			continue
		}
		batch, remaining := q.split(q.waiting[kind])
		if len(batch) == 0 {
			continue
		}
		q.order = append(q.order[:i:i], q.order[i+1:]...)
		delete(q.waiting, kind)
		if len(remaining) > 0 {
			q.waiting[kind] = remaining
			q.order = append(q.order, kind)
			q.ready.Signal()
		}
		return batch
	}
	return nil
}

// due reports whether requests have waited long enough; if not, it sets a timer that signals
// the slots when they have.
func (q *Queue) due(waiting []*Request) bool {
	if q.writing == 0 || q.closed || len(waiting) >= q.maxRows {
		return true
	}
	remaining := batchDelay - q.clock.Since(waiting[0].Since)
	if remaining <= 0 {
		return true
	}
	if !q.timer {
		q.timer = true
		go q.signalAfter(remaining)
	}
	return false
}

func (q *Queue) signalAfter(d time.Duration) {
	<-q.clock.After(d)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.timer = false
	q.ready.Broadcast()
}

func (q *Queue) split(waiting []*Request) (batch, remaining []*Request) {
	size := 0
	for i, req := range waiting {
		full := len(batch) == q.maxRows || (len(batch) > 0 && size+req.Record.Size() > q.maxBytes)
		if full {
			return batch, append(remaining, waiting[i:]...)
		}
		if q.inProgress[req.Record.UID] {
			remaining = append(remaining, req)
			continue
		}
		q.inProgress[req.Record.UID] = true
		size += req.Record.Size()
		batch = append(batch, req)
	}
	return batch, remaining
}

// Close rejects later requests; Take still returns the waiting ones.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.ready.Broadcast()
}
