package throttle

import (
	"cmp"
	"context"
	"maps"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

const (
	// searchInterval is how often the limiter searches for free slots while engines wait. The search reads only the cache. A slot
	// becomes free without an event when a rollout no longer makes progress.
	searchInterval = 2 * time.Second
	// reservation is how long a free slot is reserved for an engine that was enqueued.
	reservation = 5 * searchInterval
)

// Source returns a source that enqueues waiting engines when slots are free.
func (l *Limiter) Source() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		if l.limit > 0 {
			go l.run(ctx, queue)
		}
		return nil
	})
}

func (l *Limiter) run(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	tick := time.NewTicker(searchInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		engines, err := l.next(ctx)
		if err != nil { // each engine tries again by itself
			ctrl.LoggerFrom(ctx).Error(err, "Failed to search for free rollout slots")
		}
		for _, engine := range engines {
			queue.Add(reconcile.Request{NamespacedName: engine})
		}
	}
}

// next returns the engines that may acquire the free slots. It returns an engine again only if that has tried since.
func (l *Limiter) next(ctx context.Context) ([]types.NamespacedName, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		return nil, nil
	}
	now := l.clock.Now()
	busy, err := l.busy(ctx, now)
	if err != nil {
		return nil, err
	}
	for uid, w := range l.waiting {
		switch {
		case w.isExpired(now):
			delete(l.waiting, uid)
		case !w.enqueued.IsZero():
			busy[uid] = w.engine.Namespace
		}
	}
	order, granted := turns{count(busy), maps.Clone(l.latest)}, l.granted
	var out []types.NamespacedName
	for range l.limit - len(busy) {
		uid, found := l.first(order)
		if !found {
			break
		}
		w := l.waiting[uid]
		w.enqueued = now
		l.waiting[uid] = w
		granted++
		order.rolling[w.engine.Namespace]++
		order.latest[w.engine.Namespace] = granted
		out = append(out, w.engine)
	}
	return out, nil
}

// first returns the waiting engine that is next: in the namespace with the highest priority, the one that waits longest.
func (l *Limiter) first(order turns) (next types.UID, found bool) {
	for uid, w := range l.waiting {
		if w.enqueued.IsZero() && (!found || order.precedes(w, l.waiting[next])) {
			next, found = uid, true
		}
	}
	return next, found
}

// precedes reports whether engine a gets a slot before engine b.
func (t turns) precedes(a, b waiter) bool {
	return cmp.Or(t.compare(a.engine.Namespace, b.engine.Namespace), a.since.Compare(b.since),
		strings.Compare(a.engine.String(), b.engine.String())) < 0
}

// wait records an attempt that failed.
func (l *Limiter) wait(e *v1alpha1.FireboltEngine, now time.Time) {
	since := now
	if w, waits := l.waiting[e.UID]; waits {
		since = w.since
	}
	l.waiting[e.UID] = waiter{engine: client.ObjectKeyFromObject(e), since: since, at: now}
}

// Waiting returns the number of throttled engines.
func (l *Limiter) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiting)
}

// Leave removes an engine that needs no slot from the waiting ones.
func (l *Limiter) Leave(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, uid)
}
