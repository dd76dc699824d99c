package resolve

import (
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// DefaultProgressDeadline is the maximum time until a new generation is ready.
const DefaultProgressDeadline = 15 * time.Minute

// Rollout configures the handling of a generation that does not become ready.
type Rollout struct {
	// Deadline is the maximum time until it is ready; zero means no limit.
	Deadline time.Duration
	// Rollback abandons the generation after the deadline and returns to the serving one.
	Rollback bool
}

// RolloutOf returns how a generation that does not become ready is handled. Like
// [DrainOf], it is computed on each reconcile.
func RolloutOf(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) Rollout {
	base := defaults(class)
	out := Rollout{Deadline: DefaultProgressDeadline, Rollback: value(e.Spec.AutomaticRollback, base.AutomaticRollback, false)}
	if d := first(e.Spec.ProgressDeadline, base.ProgressDeadline); d != nil {
		out.Deadline = max(0, d.Duration)
	}
	return out
}
