package resolve

import (
	"time"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// DefaultProgressDeadline is how long a new generation may take to become ready.
const DefaultProgressDeadline = 15 * time.Minute

// Rollout configures the handling of a generation that does not become ready.
type Rollout struct {
	// Deadline is how long it may take; zero means no limit.
	Deadline time.Duration
	// Rollback then abandons it and returns to the generation that serves.
	Rollback bool
}

// RolloutOf resolves what becomes of a generation that does not get ready. Like
// [DrainOf] it is read live.
func RolloutOf(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) Rollout {
	base := defaults(class)
	out := Rollout{Deadline: DefaultProgressDeadline, Rollback: value(e.Spec.AutomaticRollback, base.AutomaticRollback, false)}
	if d := first(e.Spec.ProgressDeadline, base.ProgressDeadline); d != nil {
		out.Deadline = max(0, d.Duration)
	}
	return out
}
