package enqueue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/enqueue"
)

func TestResetPriorityKeepsRestOfResult(t *testing.T) {
	failure := errors.New("failed")
	next := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Minute}, failure
	})
	result, err := enqueue.ResetPriority(next).Reconcile(t.Context(), request("a"))
	if !errors.Is(err, failure) || result.RequeueAfter != time.Minute || result.Priority == nil || *result.Priority != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}
