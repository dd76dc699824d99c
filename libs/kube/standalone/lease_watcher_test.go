package standalone_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/standalone"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// env is a running LeaseWatcher in its own namespace, with a fake clock.
type env struct {
	*testing.T
	c       *apitest.Client
	ns      string
	clock   *clocktesting.FakeClock
	mgr     ctrl.Manager
	watcher *standalone.LeaseWatcher
	renew   int
}

func setUp(t *testing.T, options ...func(*env)) *env {
	t.Helper()
	w := &env{
		T: t, c: apitest.New(t, apitest.AddToScheme), ns: apitest.Namespace(t),
		clock: clocktesting.NewFakeClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	}
	for _, f := range options {
		f(w)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apitest.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.mgr, err = ctrl.NewManager(cluster.Get(t).Config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{w.ns: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if w.watcher, err = standalone.NewLeaseWatcher(w.mgr, w.ns, standalone.WithClock(w.clock)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.mgr.Start(ctx); err != nil {
			t.Errorf("manager: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return w
}

func (w *env) want(must bool) {
	w.Helper()
	expect.Eventually(w, expect.Long, func() error {
		if got := w.watcher.ShouldWrite(); got != must {
			return fmt.Errorf("ShouldWrite is %v, want %v", got, must)
		}
		return nil
	})
}

// advance advances the clock once the LeaseWatcher waits for it.
func (w *env) advance(d time.Duration) {
	w.Helper()
	expect.Eventually(w, expect.Long, func() error {
		if !w.clock.HasWaiters() {
			return fmt.Errorf("the LeaseWatcher does not wait for the clock")
		}
		return nil
	})
	w.clock.Step(d)
}

func (w *env) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: conditions.LeaseName}}
}

// hold creates or renews the Lease like an aggregator whose clock is years behind.
func (w *env) hold() {
	w.Helper()
	w.renew++
	lease := w.lease()
	err := w.c.Get(w.Context(), client.ObjectKeyFromObject(lease), lease)
	create := client.IgnoreNotFound(err) == nil && err != nil
	if err != nil && !create {
		w.Fatal(err)
	}
	lease.Spec.HolderIdentity = new("aggregator-0")
	lease.Spec.RenewTime = new(metav1.NewMicroTime(time.Date(1999, 1, 1, 0, 0, w.renew, 0, time.UTC)))
	write := func() error { return w.c.Update(w.Context(), lease) }
	if create {
		write = func() error { return w.c.Create(w.Context(), lease) }
	}
	if err := write(); err != nil {
		w.Fatal(err)
	}
}

func (w *env) release() {
	w.Helper()
	lease := apitest.Read(w.T, w.c.Client, w.lease())
	lease.Spec.HolderIdentity = new("")
	if err := w.c.Update(w.Context(), lease); err != nil {
		w.Fatal(err)
	}
}

func TestLeaseWatcherFollowsLease(t *testing.T) {
	w := setUp(t)
	w.want(true) // the Lease does not exist
	w.hold()
	w.want(false)
	w.advance(standalone.StaleAfter) // no renewal
	w.want(true)
	w.hold()
	w.want(false)
	w.release() // a released Lease is stale at once
	w.want(true)
	w.hold()
	w.want(false)
	if err := w.c.Delete(t.Context(), w.lease()); err != nil {
		t.Fatal(err)
	}
	w.want(true)
}

func TestLeaseWatcherWaitsForHeldLease(t *testing.T) {
	w := setUp(t, (*env).hold)
	w.advance(standalone.StaleAfter - time.Second) // the LeaseWatcher has checked and waits for the remaining time
	w.want(false)
}

func TestSourceEnqueuesAllObjectsOnChange(t *testing.T) {
	w := setUp(t, (*env).hold)
	want := map[string]bool{}
	for i := range 3 {
		s := &apitest.Ship{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: fmt.Sprint("s", i)}}
		apitest.Create(t, w.c, s)
		want[s.Name] = true
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := w.watcher.Source(&apitest.ShipList{}).Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	wantEnqueued := func(change func()) {
		t.Helper()
		change()
		got := map[string]bool{}
		expect.Eventually(t, expect.Long, func() error {
			for queue.Len() > 0 {
				item, _ := queue.Get()
				queue.Done(item)
				got[item.Name] = true
			}
			if len(got) != len(want) {
				return fmt.Errorf("enqueued %v, want %v", got, want)
			}
			return nil
		})
	}
	wantEnqueued(w.release)
	wantEnqueued(w.hold)
}
