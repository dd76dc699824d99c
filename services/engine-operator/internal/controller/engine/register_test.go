package engine

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
)

func TestEnqueuedEnginesAreNotCopied(t *testing.T) {
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	cache := &stubCache{}
	r := &Reconciler{Config: Config{Client: cache}}
	r.enginesOf(observe.IndexClass).Generic(t.Context(), event.GenericEvent{Object: &v1alpha1.FireboltEngineClass{}}, queue)
	options := client.ListOptions{}
	options.ApplyOptions(cache.listed)
	if !ptr.Deref(options.UnsafeDisableDeepCopy, false) {
		t.Errorf("list options = %+v, want UnsafeDisableDeepCopy", options)
	}
}
