package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
)

// indexRolling finds the engines that replace a generation.
const indexRolling = "status.rolling"

const rolling = "true"

// retryTurn is when an engine asks again whether it is its turn. It reads only the cache.
const retryTurn = 2 * time.Second

// turns lets a limited number of engines at a time begin a rollout that their own spec
// did not ask for: an edit of a class, or a release that renders something else, must not
// double the fleet at once.
type turns struct {
	limit  int // zero means no limit
	client client.Reader

	mu sync.Mutex
	// given holds turns that the cache does not show yet, with the number of the generation.
	given map[types.UID]int64
}

func newTurns(limit int, c client.Reader) *turns {
	return &turns{limit: limit, client: c, given: map[types.UID]int64{}}
}

// take says whether the engine may allocate the given number now, and whether the turn is
// a new one, which has to be given back if it is not used.
func (t *turns) take(ctx context.Context, e *v1.FireboltEngine, number int64) (mine, fresh bool, err error) {
	if t.limit == 0 {
		return true, false, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if given, ok := t.given[e.UID]; ok && given == number {
		return true, false, nil
	}
	var list v1.FireboltEngineList
	if err := t.client.List(ctx, &list, client.MatchingFields{indexRolling: rolling}, client.UnsafeDisableDeepCopy); err != nil {
		return false, false, fmt.Errorf("list engines that roll out: %w", err)
	}
	busy := map[types.UID]bool{}
	for i := range list.Items {
		busy[list.Items[i].UID] = true
	}
	for uid := range t.given {
		busy[uid] = true
	}
	delete(busy, e.UID)
	if len(busy) >= t.limit {
		return false, false, nil
	}
	t.given[e.UID] = number
	return true, true, nil
}

// giveBack ends a turn that was not used.
func (t *turns) giveBack(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.given, uid)
}

// seen forgets a turn once the cache shows what became of it.
func (t *turns) seen(e *v1.FireboltEngine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if number, ok := t.given[e.UID]; ok && engine.StateOf(e.Status).Allocated >= number {
		delete(t.given, e.UID)
	}
}

// replaces says whether the engine is between two generations. A new engine is not: it
// takes nobody's place.
func replaces(e *v1.FireboltEngine) bool {
	switch e.Status.Phase {
	case v1.PhaseCreating, v1.PhaseSwitching, v1.PhaseDraining, v1.PhaseCleaning:
		return e.Status.ActiveGeneration != engine.None
	}
	return false
}
