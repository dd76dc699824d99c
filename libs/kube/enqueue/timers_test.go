package enqueue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/enqueue"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// delays records the delays of a queue's requests.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]

	added []time.Duration
}

func (d *delays) AddAfter(_ reconcile.Request, after time.Duration) { d.added = append(d.added, after) }

func TestTimersKeepRequeueOfFailure(t *testing.T) {
	failed := errors.New("failed")
	for name, tc := range map[string]struct {
		result reconcile.Result
		err    error
		added  []time.Duration
		want   time.Duration // the RequeueAfter of the result
	}{
		"success":           {result: reconcile.Result{RequeueAfter: time.Hour}, want: time.Hour},
		"failure":           {err: failed},
		"failure, requeue":  {result: reconcile.Result{RequeueAfter: time.Hour}, err: failed, added: []time.Duration{time.Hour}},
		"failure, past due": {result: reconcile.Result{RequeueAfter: 1}, err: failed, added: []time.Duration{enqueue.MinFailedRequeue}},
	} {
		t.Run(name, func(t *testing.T) {
			timers, queue := &enqueue.Timers{}, &delays{}
			r := timers.Reconciler(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) { return tc.result, tc.err }))
			if err := timers.Source().Start(t.Context(), queue); err != nil {
				t.Fatal(err)
			}
			result, err := r.Reconcile(t.Context(), request("a"))
			if !errors.Is(err, tc.err) || result.RequeueAfter != tc.want {
				t.Errorf("got %v, %v; want a delay of %v and %v", result, err, tc.want, tc.err)
			}
			if !slices.Equal(queue.added, tc.added) {
				t.Errorf("added to the queue after %v, want %v", queue.added, tc.added)
			}
		})
	}
}

// A timer that ends before the backoff enqueues the object.
func TestQueueKeepsEarlierTime(t *testing.T) {
	for name, timerFirst := range map[string]bool{"timer first": true, "backoff first": false} {
		t.Run(name, func(t *testing.T) {
			q := priorityqueue.New("test", func(o *priorityqueue.Opts[reconcile.Request]) {
				o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Hour, time.Hour)
			})
			t.Cleanup(q.ShutDown)
			if timerFirst {
				q.AddAfter(request("a"), time.Millisecond)
			}
			q.AddRateLimited(request("a"))
			if !timerFirst {
				q.AddAfter(request("a"), time.Millisecond)
			}
			expect.Eventually(t, expect.Long, func() error {
				if q.Len() != 1 {
					return errors.New("the object is not enqueued")
				}
				return nil
			})
		})
	}
}
