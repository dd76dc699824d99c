package engine

import (
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// overdue reports whether the generation that is being built missed its deadline, and else
// how long it has left; zero when there is no deadline or nothing is being built.
func overdue(e *v1alpha1.FireboltEngine, deadline time.Duration, now time.Time) (missed bool, left time.Duration) {
	began := e.Status.RolloutStartedAt
	if deadline <= 0 || began == nil || e.Status.Phase != v1alpha1.PhaseCreating {
		return false, 0
	}
	left = began.Add(deadline).Sub(now)
	if left <= 0 {
		return true, 0
	}
	return false, left
}
