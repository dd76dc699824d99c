package drain

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

const (
	// maxEngines limits the size of the state. Further engines wait for the drain of another one to end:
	// evicting an engine that still drains would only restart both.
	maxEngines = 4096
	// idle is the time without a query after which an engine is dropped.
	idle = 15 * time.Minute
	// valid is how long a result stays valid. It exceeds the delay of a busy operator
	// between a check and the reconcile that uses it.
	valid = 30 * time.Second
)

// Query describes the generation to check of one engine.
type Query struct {
	Engine     types.NamespacedName
	UID        types.UID
	Generation int64
	Mode       v1alpha1.ScrapeMode
	Pods       []corev1.Pod
	// Switched is when traffic was routed away from the generation. If it is zero (unknown),
	// the time of the first query for the generation is used.
	Switched time.Time
	// Interval is the time between two checks.
	Interval time.Duration
}

// Result is the latest drain state.
type Result struct {
	Drained bool
	// Queries is the number of queries at the last check; it is incomplete when Error is set.
	Queries int
	// Error is the error of the last check; it is empty if the check succeeded.
	Error string
	// Checked is true after the first check; the other fields are meaningless before it.
	Checked bool
	// Fresh is true for the first result after a check, Changed when its Error
	// differs from that of the previous result.
	Fresh, Changed bool
	// Switched is that of the query, or the time of the first query if that is zero.
	Switched time.Time
	// RequeueAfter is the delay until the next check; it is zero while a check runs, which enqueues the
	// engine when it ends, and when no check is needed.
	RequeueAfter time.Duration
}

// Poller checks draining generations in the background and keeps the results. It is
// safe for concurrent use. Its state may be lost in a restart, which costs
// two more samples.
type Poller struct {
	prober  *Prober
	clock   clock.PassiveClock
	started chan struct{} // holds one token while checks are pending

	mu      sync.Mutex
	pending []*watched
	engines map[types.UID]*watched
}

// watched is one draining generation.
type watched struct {
	query     Query        // without its pods
	pods      []corev1.Pod // of the next check
	since     time.Time    // time of the first query
	queriedAt time.Time    // time of the latest query
	running   bool
	cancel    context.CancelFunc // ends the running check
	state     State
	drained   bool
	sample    Sample // of the last check; its At is zero before the first
	reported  bool   // a result has reported the sample
	lastError string // of the last result that reported a sample
}

// NewPoller returns a Poller that does nothing until its source is started.
func NewPoller(prober *Prober, clk clock.PassiveClock) *Poller {
	return &Poller{prober: prober, clock: clk, started: make(chan struct{}, 1), engines: map[types.UID]*watched{}}
}

// Source enqueues an engine after each of its checks. Starting it starts the checks;
// they end with its context.
func (w *Poller) Source() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		go w.run(ctx, func(engine types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: engine}) })
		return nil
	})
}

// Check returns the latest result for the generation and never blocks. It starts a check in
// the background when none runs and the interval since the last one has passed.
func (w *Poller) Check(q Query) Result {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.entry(q, now)
	if e == nil {
		return Result{Error: fmt.Sprintf("%d other engines are being drained", maxEngines), Checked: true, Switched: cmp.Or(q.Switched, now)}
	}
	q.Switched = cmp.Or(q.Switched, e.since)
	pods := q.Pods
	q.Pods = nil // do not keep pods between checks
	e.query, e.queriedAt = q, now
	if len(runningPods(pods)) == 0 {
		e.record(Sample{At: now})
	} else if e.due(now) {
		w.schedule(e, pods)
	}
	return e.result(now)
}

// entry returns the state of the query's generation and adds it if necessary; it returns nil when the
// state is full.
func (w *Poller) entry(q Query, now time.Time) *watched {
	e := w.engines[q.UID]
	if e != nil && e.state.Generation == q.Generation {
		return e
	}
	w.drop(q.UID)
	if !w.room(now) {
		return nil
	}
	e = &watched{since: now, state: State{Generation: q.Generation}}
	w.engines[q.UID] = e
	return e
}

// Forget drops the state of an engine and cancels its check.
func (w *Poller) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(uid)
}

func (w *Poller) drop(uid types.UID) {
	if e := w.engines[uid]; e != nil && e.cancel != nil {
		e.cancel()
	}
	delete(w.engines, uid)
}

// room reports whether one more engine can be tracked; it evicts engines
// without a recent query.
func (w *Poller) room(now time.Time) bool {
	if len(w.engines) < maxEngines {
		return true
	}
	for uid, e := range w.engines {
		if now.After(e.queriedAt.Add(idle + 2*e.query.Interval)) {
			w.drop(uid)
		}
	}
	return len(w.engines) < maxEngines
}

func (w *Poller) schedule(e *watched, pods []corev1.Pod) {
	e.running, e.pods = true, pods
	w.pending = append(w.pending, e)
	select {
	case w.started <- struct{}{}:
	default: // a token is already queued
	}
}

// run starts checks until the context ends, and returns when the last one has ended.
func (w *Poller) run(ctx context.Context, enqueue func(types.NamespacedName)) {
	var checks sync.WaitGroup
	defer checks.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.started:
		}
		w.mu.Lock()
		pending := w.pending
		w.pending = nil
		w.mu.Unlock()
		for _, e := range pending {
			checks.Go(func() { w.probe(ctx, e, enqueue) })
		}
	}
}

func (w *Poller) probe(ctx context.Context, e *watched, enqueue func(types.NamespacedName)) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	q, pods := e.query, e.pods
	e.cancel, e.pods = cancel, nil
	current := w.engines[q.UID] == e
	w.mu.Unlock()
	if !current {
		return
	}
	s := w.prober.Sample(ctx, q.Mode, pods)
	if ctx.Err() != nil {
		return // the operator shuts down, or the engine was forgotten
	}
	w.mu.Lock()
	e.running, e.cancel = false, nil
	e.record(s)
	w.mu.Unlock()
	enqueue(q.Engine)
}

// due reports whether the next check can start.
func (e *watched) due(now time.Time) bool {
	if e.running || e.current(now) && e.drained {
		return false
	}
	return !now.Before(e.next())
}

// next returns when the next check can start: an interval after the last one. The first
// check that counts is not delayed by an earlier one.
func (e *watched) next() time.Time {
	settled := e.query.Switched.Add(Settle)
	switch next := e.sample.At.Add(e.query.Interval); {
	case e.sample.At.IsZero():
		return time.Time{}
	case e.sample.At.Before(settled) && settled.Before(next):
		return settled
	default:
		return next
	}
}

// current reports whether the last sample is still valid.
func (e *watched) current(now time.Time) bool {
	return !e.sample.At.IsZero() && now.Before(e.sample.At.Add(max(valid, e.query.Interval)))
}

func (e *watched) record(s Sample) {
	e.state, e.drained = Evaluate(e.state, s, e.query.Switched, e.query.Interval)
	e.sample, e.reported = s, false
}

func (e *watched) result(now time.Time) Result {
	v := Result{
		Drained: e.drained && e.current(now), Queries: e.sample.Queries,
		Checked: !e.sample.At.IsZero(), Fresh: !e.reported && !e.sample.At.IsZero(), Switched: e.query.Switched,
	}
	if e.sample.Err != nil {
		v.Error = errorText(e.sample.Err)
	}
	if !e.running && !v.Drained {
		v.RequeueAfter = max(e.next().Sub(now), 0)
	}
	v.Changed = v.Fresh && v.Error != e.lastError
	if v.Fresh {
		e.reported, e.lastError = true, v.Error
	}
	return v
}
