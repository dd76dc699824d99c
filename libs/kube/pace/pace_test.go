package pace_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flotilla-dev/flotilla/libs/kube/pace"
)

var errFailed = errors.New("failed")

// slow is a reconciler with a given duration of each reconcile.
type slow struct {
	clock    *clocktesting.FakeClock
	duration time.Duration
	fails    bool
	count    map[string]int
}

func (s *slow) Reconcile(_ context.Context, req ctrl.Request) (ctrl.Result, error) {
	s.count[req.Name]++
	s.clock.Step(s.duration)
	if s.fails {
		return ctrl.Result{}, errFailed
	}
	return ctrl.Result{}, nil
}

func TestReconcilePausesForItsDuration(t *testing.T) {
	const s = time.Second
	steps := []struct {
		after    time.Duration
		name     string
		duration time.Duration
		fails    bool
		wait     time.Duration // zero: the wrapped reconciler runs
	}{
		{name: "a", duration: s},
		{name: "a", wait: s},
		{after: s / 4, name: "a", wait: s * 3 / 4},
		{name: "b", duration: s}, // another object; the pause of the first ends meanwhile
		{name: "a", duration: 0},
		{name: "a", wait: pace.MinPause},
		{after: pace.MinPause, name: "a", duration: time.Minute},
		{name: "a", wait: pace.MaxPause},
		{after: pace.MaxPause, name: "a", duration: s, fails: true},
		{name: "a", fails: true}, // the backoff of the queue decides, and a requeue would reset it
		{name: "a"},
		{name: "a", wait: pace.MinPause},
	}
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	next := &slow{clock: clk, count: map[string]int{}}
	r := pace.New(next, clk)
	for i, step := range steps {
		clk.Step(step.after)
		next.duration, next.fails = step.duration, step.fails
		before := next.count[step.name]
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: step.name}})
		ran := next.count[step.name] > before
		if ran != (step.wait == 0) || step.fails != errors.Is(err, errFailed) || result.RequeueAfter != step.wait {
			t.Errorf("step %d: ran %v, %v, %v; want a delay of %v", i, ran, result, err, step.wait)
		}
	}
}
