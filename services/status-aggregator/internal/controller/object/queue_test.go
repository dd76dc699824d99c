package object

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// delays is a work queue that only records delays.
type delays struct {
	workqueue.TypedRateLimitingInterface[contract.Ref]

	last time.Duration
}

func (d *delays) AddAfter(_ contract.Ref, after time.Duration) { d.last = after }

func TestQueueDelaysObservationsAfterReconcilesOnly(t *testing.T) {
	clk := clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	q, recorded := NewQueue(clk), &delays{}
	if err := q.Source().Start(t.Context(), recorded); err != nil {
		t.Fatal(err)
	}
	r := q.record(reconcile.TypedFunc[contract.Ref](func(context.Context, contract.Ref) (reconcile.Result, error) {
		return reconcile.Result{}, nil
	}))
	a, b := contract.Ref{Name: "a"}, contract.Ref{Name: "b"}
	steps := []struct {
		after     time.Duration
		reconcile *contract.Ref
		observed  contract.Ref
		want      time.Duration
	}{
		{observed: a, want: Gather},
		{reconcile: &a, observed: a, want: Debounce},
		{observed: b, want: Gather}, // another object
		{after: 100 * time.Millisecond, observed: a, want: Debounce - 100*time.Millisecond},
		{after: 140 * time.Millisecond, observed: a, want: Gather}, // longer than the rest
		{after: time.Millisecond, reconcile: &a, observed: a, want: Debounce},
		{after: Debounce, reconcile: &b, observed: a, want: Gather},
	}
	for i, step := range steps {
		clk.Step(step.after)
		if step.reconcile != nil {
			if _, err := r.Reconcile(t.Context(), *step.reconcile); err != nil {
				t.Fatal(err)
			}
		}
		if q.AddObserved(step.observed); recorded.last != step.want {
			t.Errorf("step %d: delay is %s, want %s", i, recorded.last, step.want)
		}
		if q.Add(step.observed); recorded.last != Debounce {
			t.Errorf("step %d: delay of a watched change is %s, want %s", i, recorded.last, Debounce)
		}
	}
	if len(q.starts) > 1 {
		t.Errorf("the queue remembers %d objects, want those of the last %s only", len(q.starts), Debounce)
	}
}
