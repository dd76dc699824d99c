package enqueue_test

import (
	"fmt"
	"testing"

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
			q := priorityqueue.New[reconcile.Request]("test")
			t.Cleanup(q.ShutDown)
			for i := range 5000 {
				q.Add(request(fmt.Sprint("other-", i)))
			}
			q.Add(request("edited")) // by the watch of builder.For, behind all others

			old := &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Name: "edited", Generation: 1}}
			now, ok := old.DeepCopyObject().(*apitest.Ship)
			if !ok {
				t.Fatal("the copy has another type")
			}
			tc.change(now)
			enqueue.Edits().Update(t.Context(), event.UpdateEvent{ObjectOld: client.Object(old), ObjectNew: now}, q)

			if got, _ := q.Get(); got.Name != tc.first {
				t.Errorf("first request is %q, want %q", got.Name, tc.first)
			}
			if n := q.Len(); n != 5000 {
				t.Errorf("%d requests follow, want 5000", n)
			}
		})
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
