package enqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/kube/enqueue"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
)

func TestEditsPrecedeAllOtherRequests(t *testing.T) {
	deleted := metav1.Now()
	tests := map[string]struct {
		change func(*apitest.Ship)
		first  string
	}{
		"spec":       {func(s *apitest.Ship) { s.Generation++ }, "edited"},
		"annotation": {func(s *apitest.Ship) { s.Annotations = map[string]string{"operator-command": "Stopped"} }, "edited"},
		"deletion":   {func(s *apitest.Ship) { s.DeletionTimestamp = &deleted }, "edited"},
		"status":     {func(s *apitest.Ship) { s.Status.Phase = "Running" }, "other-0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t)
			for i := range 5000 {
				q.Add(request(fmt.Sprint("other-", i)))
			}
			q.Add(request("edited")) // by the watch of builder.For, behind all others

			send(t, enqueue.NewEdits(), q, request("edited"), tc.change)

			if got, _ := q.Get(); got.Name != tc.first {
				t.Errorf("first request is %q, want %q", got.Name, tc.first)
			}
			if n := q.Len(); n != 5000 {
				t.Errorf("%d requests follow, want 5000", n)
			}
		})
	}
}

// A script edits 5,000 objects, and a user then edits an object in another namespace.
func TestEditDoesNotWaitForOtherNamespaces(t *testing.T) {
	const bulk, others = 5000, 100
	q, edits := newQueue(t), enqueue.NewEdits()
	edit := func(s *apitest.Ship) { s.Generation++ }
	for i := range others {
		q.Add(request(fmt.Sprint("other-", i)))
	}
	for i := range bulk {
		send(t, edits, q, request(fmt.Sprint("bulk-", i)), edit)
	}
	send(t, edits, q, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "theirs", Name: "user"}}, edit)

	var order []string
	r := edits.Reconciler(reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		order = append(order, req.Name)
		return reconcile.Result{}, nil
	}))
	for range bulk + others + 1 {
		req, _ := q.Get()
		if _, err := r.Reconcile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		q.Done(req)
		if len(order) == bulk/2 { // the share of the namespace is free again
			send(t, edits, q, request("late"), edit)
		}
	}

	if got := slices.Index(order, "user"); got != enqueue.Share {
		t.Errorf("%d objects precede that of the user, want %d", got, enqueue.Share)
	}
	if got := slices.Index(order, "late"); got != bulk/2 {
		t.Errorf("an edit while none waits with %d is object %d, want %d", enqueue.EditPriority, got, bulk/2)
	}
	for i, name := range order[:bulk+1] {
		if strings.HasPrefix(name, "other") {
			t.Fatalf("%s is reconciled after %d objects, before an edit", name, i)
		}
	}
}

func TestReconcilerKeepsRestOfResult(t *testing.T) {
	failure := errors.New("failed")
	next := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{RequeueAfter: time.Minute}, failure
	})
	result, err := enqueue.NewEdits().Reconciler(next).Reconcile(t.Context(), request("a"))
	if !errors.Is(err, failure) || result.RequeueAfter != time.Minute || result.Priority == nil || *result.Priority != 0 {
		t.Errorf("got %+v, %v", result, err)
	}
}

func newQueue(t *testing.T) priorityqueue.PriorityQueue[reconcile.Request] {
	t.Helper()
	q := priorityqueue.New[reconcile.Request]("test")
	t.Cleanup(q.ShutDown)
	return q
}

// send sends the handler the event of a change.
func send(t *testing.T, edits *enqueue.Edits, q priorityqueue.PriorityQueue[reconcile.Request], req reconcile.Request, change func(*apitest.Ship)) {
	t.Helper()
	old := &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Namespace: req.Namespace, Name: req.Name, Generation: 1}}
	now, ok := old.DeepCopyObject().(*apitest.Ship)
	if !ok {
		t.Fatal("the copy has another type")
	}
	change(now)
	edits.Handler().Update(t.Context(), event.UpdateEvent{ObjectOld: client.Object(old), ObjectNew: now}, q)
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
