package writer

import (
	"sort"
	"sync"
	"time"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// request is one record that waits, and its answer.
type request struct {
	record  *record.Record
	since   time.Time
	done    chan struct{} // closed when outcome and err are set
	outcome Outcome
	err     error
}

// queue gathers requests by kind. The kind whose request has waited longest is
// served first.
type queue struct {
	maxRows, maxBytes int

	mu      sync.Mutex
	ready   *sync.Cond
	waiting map[*registry.Kind][]*request
	order   []*registry.Kind // kinds with waiting requests, oldest first
	closed  bool
}

func newQueue(maxRows, maxBytes int) *queue {
	q := &queue{maxRows: maxRows, maxBytes: maxBytes, waiting: map[*registry.Kind][]*request{}}
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
// closed and empty. A batch holds each uid once: a second request for an object
// waits for the next batch.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.order) == 0 {
		if q.closed {
			return nil
		}
		q.ready.Wait()
	}
	kind := q.order[0]
	q.order = q.order[1:]
	batch, rest := q.split(q.waiting[kind])
	if len(rest) > 0 {
		q.waiting[kind] = rest
		q.order = append(q.order, kind)
		q.ready.Signal()
	} else {
		delete(q.waiting, kind)
	}
	sort.Slice(batch, func(i, j int) bool { return batch[i].record.UID < batch[j].record.UID })
	return batch
}

func (q *queue) split(waiting []*request) (batch, rest []*request) {
	size := 0
	taken := map[string]bool{}
	for i, req := range waiting {
		full := len(batch) == q.maxRows || (len(batch) > 0 && size+req.record.Size() > q.maxBytes)
		if full {
			return batch, append(rest, waiting[i:]...)
		}
		if taken[req.record.UID] {
			rest = append(rest, req)
			continue
		}
		taken[req.record.UID] = true
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
