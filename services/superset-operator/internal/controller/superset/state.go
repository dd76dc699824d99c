package superset

import (
	"errors"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/lifecycle"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// errStale means that the decision was made from a stale cache.
var errStale = errors.New("stale cache")

// reconcileState is the state of one reconcile.
type reconcileState struct {
	// sup is the latest known object; status writes update it.
	sup *v1alpha1.Superset
	// rereadAfter is when to read sup again if the cache does not show the last write by then.
	rereadAfter time.Duration
	// recheck is when to check again why Jobs have no pods; zero for never.
	recheck    time.Duration
	intent     contract.Intent
	violations []string
	desired    *desired.State
	snapshot   *snapshot.Snapshot
	// schedule is the clone's; nil if it has none.
	schedule *lifecycle.Schedule
	// decision is nil if the tasks were not evaluated.
	decision *lifecycle.Decision
	// persisted reports whether this reconcile wrote the decision to the status.
	persisted bool
	// applied reports whether the whole spec was applied.
	applied bool
	// failed is the permanent error that ended the reconcile; nil if there is none.
	failed *contract.Reconcile
	// failures are the errors that did not end the reconcile.
	failures []error
	// generations are the generations of the Deployments after they were applied, by component name.
	generations map[string]int64
}

// lastReplicas returns the current or last replica count of each component, except zero.
func (s *reconcileState) lastReplicas() map[string]int32 {
	last := map[string]int32{}
	for _, d := range component.All() {
		if s.sup.Status.Components != nil {
			if entry := *d.StatusRef(s.sup.Status.Components); entry != nil && entry.LastReplicas > 0 {
				last[d.Name] = entry.LastReplicas
			}
		}
		if live := s.snapshot.Deployments[d.Name]; live != nil && snapshot.DesiredReplicas(live) > 0 {
			last[d.Name] = snapshot.DesiredReplicas(live)
		}
	}
	return last
}

func (s *reconcileState) outcome(failure error) contract.Reconcile {
	return observation.Outcome(s.violations, s.decision, failure)
}
