// Package throttle limits how many engines start a rollout at once.
package throttle

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// IndexRolling is the cache index of engines that replace a generation.
const IndexRolling = "status.rolling"

// Rolling is the value of [IndexRolling].
const Rolling = "true"

// Limiter limits how many engines start a rollout at the same time that their own spec did
// not request: an edit of a class, or an operator release that renders differently, must
// not double the whole fleet at once.
//
// Only rollouts that make progress count: one that hangs, because pods do not start or
// queries do not end, would block all others. Slots are shared fairly between namespaces:
// an engine waits while one waits in another namespace with fewer rollouts, or with as many
// and an older latest slot.
//
// Waiting is cheap: the limiter enqueues as many engines as there are free slots ([Limiter.Source]).
type Limiter struct {
	limit  int // zero means no limit
	client client.Reader
	clock  clock.PassiveClock

	mu sync.Mutex
	// slots holds the slots that the cache does not show yet.
	slots map[types.UID]slot
	// waiting holds the throttled engines, and when each tried last.
	waiting map[types.UID]waiter
	// granted counts the new slots, latest is its value at the latest one of each namespace since engines wait.
	granted uint64
	latest  map[string]uint64
}

// slot is a rollout slot: a generation number that the engine may allocate.
type slot struct {
	namespace string
	number    int64
}

// waiter is a throttled engine.
type waiter struct {
	engine    types.NamespacedName
	since, at time.Time // its first and its last attempt
	enqueued  time.Time // when it was enqueued for a free slot; zero if it was not
}

// waiterTTL is how long an engine counts as waiting after its last attempt; it tries again after [engine.RequeueDrift].
const waiterTTL = 3 * engine.RequeueDrift / 2

// isExpired reports whether the engine no longer tries, because it was deleted or its namespace is no longer watched.
func (w waiter) isExpired(now time.Time) bool {
	return now.Sub(w.at) > waiterTTL || !w.enqueued.IsZero() && now.Sub(w.enqueued) > reservation
}

// New returns a Limiter that reads the engines from the cache; a limit of zero means no limit.
func New(limit int, c client.Reader, clock clock.PassiveClock) *Limiter {
	return &Limiter{
		limit: limit, client: c, clock: clock,
		slots: map[types.UID]slot{}, waiting: map[types.UID]waiter{}, latest: map[string]uint64{},
	}
}

// Acquire reports whether the engine may allocate the given number now, and whether the slot is
// new; a new slot must be released if it is not used.
func (l *Limiter) Acquire(ctx context.Context, e *v1alpha1.FireboltEngine, number int64) (acquired, isNew bool, err error) {
	if l.limit == 0 {
		return true, false, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, ok := l.slots[e.UID]; ok && held.number == number {
		return true, false, nil
	}
	now := l.clock.Now()
	busy, err := l.busy(ctx, now)
	if err != nil {
		return false, false, err
	}
	delete(busy, e.UID)
	if len(busy) >= l.limit || !l.fair(e.Namespace, busy, now) {
		l.wait(e, now)
		return false, false, nil
	}
	delete(l.waiting, e.UID)
	if len(l.waiting) == 0 {
		clear(l.latest) // the order of the others matters only while engines wait
	}
	l.granted++
	l.latest[e.Namespace] = l.granted
	l.slots[e.UID] = slot{e.Namespace, number}
	return true, true, nil
}

// busy returns the namespaces of the engines that hold a slot.
func (l *Limiter) busy(ctx context.Context, now time.Time) (map[types.UID]string, error) {
	var list v1alpha1.FireboltEngineList
	if err := l.client.List(ctx, &list, client.MatchingFields{IndexRolling: Rolling}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list engines that roll out: %w", err)
	}
	busy := map[types.UID]string{}
	for i := range list.Items {
		advances, err := l.makesProgress(ctx, &list.Items[i], now)
		if err != nil {
			return nil, err
		}
		if advances {
			busy[list.Items[i].UID] = list.Items[i].Namespace
		}
	}
	for uid, held := range l.slots {
		busy[uid] = held.namespace
	}
	return busy, nil
}

// fair reports whether no engine in a namespace with higher priority is waiting.
func (l *Limiter) fair(namespace string, busy map[types.UID]string, now time.Time) bool {
	order := turns{count(busy), l.latest}
	for uid, w := range l.waiting {
		if w.isExpired(now) {
			delete(l.waiting, uid)
			continue
		}
		if order.compare(w.engine.Namespace, namespace) < 0 {
			return false
		}
	}
	return true
}

// turns order the namespaces: first those with fewer rollouts, then those with an older latest slot.
type turns struct {
	rolling map[string]int
	latest  map[string]uint64
}

func (t turns) compare(a, b string) int {
	return cmp.Or(cmp.Compare(t.rolling[a], t.rolling[b]), cmp.Compare(t.latest[a], t.latest[b]))
}

// count returns the number of engines by namespace.
func count(engines map[types.UID]string) map[string]int {
	out := map[string]int{}
	for _, in := range engines {
		out[in]++
	}
	return out
}

// makesProgress reports whether a rollout makes progress: its last step is within its limit.
func (l *Limiter) makesProgress(ctx context.Context, e *v1alpha1.FireboltEngine, now time.Time) (bool, error) {
	if meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionRolloutOverdue) {
		return false, nil
	}
	last := time.Time{}
	if e.Status.RolloutStartedAt != nil {
		last = e.Status.RolloutStartedAt.Time
	}
	if n := len(e.Status.Transitions); n > 0 && e.Status.Transitions[n-1].Time.After(last) {
		last = e.Status.Transitions[n-1].Time.Time
	}
	if last.IsZero() {
		return true, nil
	}
	limit, err := l.stepLimit(ctx, e)
	return err == nil && now.Sub(last) < limit, err
}

// drainProgress is how long a drain counts as progress; the new generation already serves.
const drainProgress = time.Minute

// stepLimit returns how long one step of a rollout counts as progress: its progress deadline, or the
// default one for a rollout without a deadline.
func (l *Limiter) stepLimit(ctx context.Context, e *v1alpha1.FireboltEngine) (time.Duration, error) {
	class, err := l.classOf(ctx, e)
	if err != nil {
		return 0, err
	}
	limit := cmp.Or(resolve.RolloutOf(e, class).Deadline, resolve.DefaultProgressDeadline)
	if e.Status.Phase == v1alpha1.PhaseDraining {
		limit = min(limit, drainProgress)
	}
	return limit, nil
}

// classOf returns the class of the engine, which is shared with the cache; nil for none.
func (l *Limiter) classOf(ctx context.Context, e *v1alpha1.FireboltEngine) (*v1alpha1.FireboltEngineClass, error) {
	if e.Spec.EngineClassRef == nil {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: e.Namespace, Name: *e.Spec.EngineClassRef}
	class := &v1alpha1.FireboltEngineClass{}
	switch err := l.client.Get(ctx, key, class, client.UnsafeDisableDeepCopy); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("get class %s: %w", key, err)
	}
	return class, nil
}

// Release returns an unused slot and removes the engine from the waiting ones.
func (l *Limiter) Release(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.slots, uid)
	delete(l.waiting, uid)
}

// Observe drops a slot once the cache shows its rollout.
func (l *Limiter) Observe(e *v1alpha1.FireboltEngine) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, ok := l.slots[e.UID]; ok && engine.StateOf(e.Status).Allocated >= held.number {
		delete(l.slots, e.UID)
	}
}

// IsRollingOut reports whether the engine is between two generations. A new engine is not: it
// replaces no generation.
func IsRollingOut(e *v1alpha1.FireboltEngine) bool {
	return engine.IsRollout(e.Status.Phase) && e.Status.ActiveGeneration != engine.None
}
