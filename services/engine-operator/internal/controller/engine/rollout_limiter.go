package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// indexRolling finds the engines that replace a generation.
const indexRolling = "status.rolling"

const rolling = "true"

// requeueThrottled is when an engine asks again whether it is its turn. It reads only the cache.
const requeueThrottled = 2 * time.Second

// rolloutLimiter lets a limited number of engines at a time begin a rollout that their own spec
// did not request: an edit of a class, or a release that renders something else, must not
// double the fleet at once.
//
// Only rollouts that make progress count: one that hangs, for pods that do not start or
// queries that do not end, would hold back everybody. Namespaces have turns fairly: an
// engine waits while one waits in another namespace in which fewer roll out.
type rolloutLimiter struct {
	limit  int // zero means no limit
	client client.Reader
	clock  clock.PassiveClock

	mu sync.Mutex
	// given holds turns that the cache does not show yet.
	given map[types.UID]turn
	// waiting holds who was refused a turn, and when.
	waiting map[types.UID]waiter
}

// turn is the number of a generation that may be allocated.
type turn struct {
	namespace string
	number    int64
}

type waiter struct {
	namespace string
	at        time.Time
}

// waits is how long an engine counts as waiting after it asked last; it asks again after [requeueThrottled].
const waits = 5 * requeueThrottled

func newRolloutLimiter(limit int, c client.Reader, clock clock.PassiveClock) *rolloutLimiter {
	return &rolloutLimiter{limit: limit, client: c, clock: clock, given: map[types.UID]turn{}, waiting: map[types.UID]waiter{}}
}

// acquire reports whether the engine may allocate the given number now, and whether the turn is
// a new one, which has to be given back if it is not used.
func (t *rolloutLimiter) acquire(ctx context.Context, e *v1alpha1.FireboltEngine, number int64) (mine, fresh bool, err error) {
	if t.limit == 0 {
		return true, false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if given, ok := t.given[e.UID]; ok && given.number == number {
		return true, false, nil
	}
	now := t.clock.Now()
	var list v1alpha1.FireboltEngineList
	if err := t.client.List(ctx, &list, client.MatchingFields{indexRolling: rolling}, client.UnsafeDisableDeepCopy); err != nil {
		return false, false, fmt.Errorf("list engines that roll out: %w", err)
	}
	busy := map[types.UID]string{}
	for i := range list.Items {
		if advances(&list.Items[i], now) {
			busy[list.Items[i].UID] = list.Items[i].Namespace
		}
	}
	for uid, given := range t.given {
		busy[uid] = given.namespace
	}
	delete(busy, e.UID)
	if len(busy) >= t.limit || !t.fair(e.Namespace, busy, now) {
		t.waiting[e.UID] = waiter{e.Namespace, now}
		return false, false, nil
	}
	delete(t.waiting, e.UID)
	t.given[e.UID] = turn{e.Namespace, number}
	return true, true, nil
}

// fair reports whether no engine waits in another namespace in which fewer roll out.
func (t *rolloutLimiter) fair(namespace string, busy map[types.UID]string, now time.Time) bool {
	rolling := map[string]int{}
	for _, in := range busy {
		rolling[in]++
	}
	for uid, w := range t.waiting {
		if now.Sub(w.at) > waits { // deleted, paused, or as wanted by now
			delete(t.waiting, uid)
			continue
		}
		if rolling[w.namespace] < rolling[namespace] {
			return false
		}
	}
	return true
}

// advances reports whether a rollout makes progress: it is within its deadline since its
// last step. Without a deadline of its own the default one counts.
func advances(e *v1alpha1.FireboltEngine, now time.Time) bool {
	if meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionRolloutOverdue) {
		return false
	}
	patience := resolve.DefaultProgressDeadline
	if e.Status.Phase == v1alpha1.PhaseDraining {
		patience = drainTurn
	}
	if d := e.Spec.ProgressDeadline; d != nil && d.Duration > 0 {
		patience = min(patience, d.Duration)
	}
	last := time.Time{}
	if e.Status.RolloutStartedAt != nil {
		last = e.Status.RolloutStartedAt.Time
	}
	if n := len(e.Status.Transitions); n > 0 && e.Status.Transitions[n-1].Time.After(last) {
		last = e.Status.Transitions[n-1].Time.Time
	}
	return last.IsZero() || now.Sub(last) < patience
}

// drainTurn is how long a drain counts as progress: the new generation serves already.
const drainTurn = time.Minute

// release ends a turn that was not used.
func (t *rolloutLimiter) release(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.given, uid)
}

// seen forgets a turn once the cache shows what became of it.
func (t *rolloutLimiter) seen(e *v1alpha1.FireboltEngine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if given, ok := t.given[e.UID]; ok && engine.StateOf(e.Status).Allocated >= given.number {
		delete(t.given, e.UID)
	}
}

// isRollingOut reports whether the engine is between two generations. A new engine is not: it
// isRollingOut no generation.
func isRollingOut(e *v1alpha1.FireboltEngine) bool {
	switch e.Status.Phase {
	case v1alpha1.PhaseCreating, v1alpha1.PhaseSwitching, v1alpha1.PhaseDraining, v1alpha1.PhaseCleaning:
		return e.Status.ActiveGeneration != engine.None
	}
	return false
}
