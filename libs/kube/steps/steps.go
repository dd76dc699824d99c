package steps

import (
	"context"
	"fmt"
	"time"

	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const scope = "github.com/flotilla-dev/flotilla/libs/kube/steps"

// RequeueStale is the delay of the next reconcile after a decision from a stale cache. The event of the change that the
// cache lacks usually arrives first; otherwise each attempt costs a request to the API server.
const RequeueStale = 250 * time.Millisecond

// Result is what a step, or a whole run, requests.
type Result struct {
	// Requeue is the time after which to requeue; zero means that only an event enqueues.
	Requeue time.Duration
	// Stop ends the run after this step, without an error.
	Stop bool
}

// Step is one named part of a reconcile. Errors and spans contain the name:
// a few words, lower case, for example "preflight" or "apply networking".
type Step[S any] struct {
	Name string
	// When reports whether the step applies to the state; nil means always. A step that does not apply has no span.
	When func(state *S) bool
	Run  func(ctx context.Context, state *S) (Result, error)
}

// Run executes the steps in order until one fails or requests a stop.
//
// The result holds the shortest requeue that any executed step requested, also
// with an error, and Stop if a step ended the run. An error is wrapped with the
// name of its step.
func Run[S any](ctx context.Context, state *S, list []Step[S]) (Result, error) {
	var total Result
	for _, step := range list {
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("%s: %w", step.Name, err)
		}
		if step.When != nil && !step.When(state) {
			continue
		}
		result, err := runOne(ctx, state, step)
		total.Requeue = MinRequeue(total.Requeue, result.Requeue)
		if err != nil {
			return total, fmt.Errorf("%s: %w", step.Name, err)
		}
		if result.Stop {
			total.Stop = true
			return total, nil
		}
	}
	return total, nil
}

func runOne[S any](ctx context.Context, state *S, step Step[S]) (Result, error) {
	ctx, span := telemetry.Child(ctx, scope, step.Name)
	result, err := step.Run(ctx, state)
	telemetry.End(span, "step", err)
	return result, err
}

// MinRequeue returns the shorter of two delays, where zero and less mean "never".
func MinRequeue(a, b time.Duration) time.Duration {
	switch {
	case a <= 0:
		return max(b, 0)
	case b <= 0:
		return a
	}
	return min(a, b)
}
