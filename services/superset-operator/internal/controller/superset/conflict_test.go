package superset_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func TestStaleCacheStartsNoTask(t *testing.T) {
	t.Parallel()
	old := &atomic.Pointer[func(client.Object)]{}
	e := start(t, options{idle: true})
	sup := e.create(e.sample("development.yaml"))
	e.reconcileUntil(sup, nil, func(s *v1alpha1.Superset) error {
		if s.Status.Lifecycle == nil || s.Status.Lifecycle.Migrate.State != v1alpha1.TaskRunning {
			return errors.New("migrate does not run yet")
		}
		return nil
	})
	stale := sup.DeepCopy()
	e.reconcileUntil(sup, nil, settled)
	jobs := e.requests.matching(`^POST .*/jobs 201$`)

	// A new process whose stale cache shows migrate as running, although its Job is deleted.
	e.reconciler = e.process(func(c client.Client) client.Client { return staleClient{c, old} })
	makeStale := func(obj client.Object) {
		if s, ok := obj.(*v1alpha1.Superset); ok {
			stale.DeepCopyInto(s)
		}
	}
	old.Store(&makeStale)
	for range 3 {
		result, err := e.reconciler.Reconcile(t.Context(), request(sup))
		if err != nil || result.RequeueAfter == 0 {
			t.Fatalf("want a retry, got %+v, %v", result, err)
		}
	}
	if n := e.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Fatalf("%d more Jobs were created from a stale decision", n-jobs)
	}
	old.Store(nil)
	e.reconcileUntil(sup, nil, settled)
	if n := e.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Errorf("%d more Jobs were created afterwards", n-jobs)
	}
}

func TestReconcileKeepsConcurrentEdit(t *testing.T) {
	t.Parallel()
	e := start(t, options{idle: true})
	sup := e.create(e.sample("development.yaml"))
	e.reconcileUntil(sup, nil, settled)
	edited := &atomic.Bool{}
	beforeStatus := func(c client.Client) client.Client {
		return hookClient{c, func() {
			if edited.CompareAndSwap(false, true) {
				e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Suspend = new(true) })
			}
		}}
	}
	e.reconciler = e.process(beforeStatus)
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Image.Tag = "6.0.1" })
	jobs := e.requests.matching(`^POST .*/jobs 201$`)
	e.reconcileUntil(sup, nil, phase(v1alpha1.PhaseSuspended))
	if !edited.Load() {
		t.Fatal("the edit was too late")
	}
	if n := e.requests.matching(`^POST .*/jobs 201$`); n != jobs {
		t.Errorf("a task started although the Superset was suspended meanwhile")
	}
}

// hookClient runs a function just before the first status write.
type hookClient struct {
	client.Client
	beforeStatus func()
}

func (injector hookClient) Status() client.SubResourceWriter {
	injector.beforeStatus()
	return injector.Client.Status()
}
