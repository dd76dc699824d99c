package superset_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestReadyPodsAreWrittenOncePerInterval checks that the number of ready pods is written only some time after the
// last write while the phase stays.
func TestReadyPodsAreWrittenOncePerInterval(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(time.Now())
	e := start(t, options{idle: true, clock: clk})
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) {
		s.Spec.Valkey = &v1alpha1.ValkeySpec{Host: "valkey"}
		s.Spec.CeleryWorker = &v1alpha1.CeleryWorkerSpec{}
		s.Spec.CeleryWorker.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{
			controlplane.FailAnnotation: controlplane.FailNeverReady,
		}}
	}))
	ready := func(s *v1alpha1.Superset) int32 { return s.Status.Components.WebServer.ReadyReplicas }

	// The worker is created when the web server is ready, so the operator has observed that.
	worker := client.ObjectKey{Namespace: e.namespace, Name: "development-celery-worker"}
	e.reconcileUntil(sup, nil, func(*v1alpha1.Superset) error { return e.client.Get(t.Context(), worker, &appsv1.Deployment{}) })
	if n := ready(sup); n != 0 {
		t.Errorf("%d ready pods are written without a delay", n)
	}
	result, err := e.reconciler.Reconcile(t.Context(), request(sup))
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > coalesce.Interval {
		t.Errorf("result %+v, %v, want a requeue within %v", result, err, coalesce.Interval)
	}

	clk.SetTime(clk.Now().Add(coalesce.Interval))
	e.reconcileUntil(sup, nil, func(s *v1alpha1.Superset) error {
		if ready(s) == 0 {
			return fmt.Errorf("no ready pods: %+v", s.Status.Components.WebServer)
		}
		return nil
	})
	if sup.Status.Phase != v1alpha1.PhaseInitializing {
		t.Errorf("phase is %s, want it unchanged", sup.Status.Phase)
	}
}

// TestReadyPodsOfPausedSupersetAreWrittenOncePerInterval checks that the delay also applies to a reconcile that only writes
// the status.
func TestReadyPodsOfPausedSupersetAreWrittenOncePerInterval(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(time.Now())
	e := start(t, options{idle: true, clock: clk})
	sup := e.create(e.sample("development.yaml"))
	e.reconcileUntil(sup, nil, settled)
	clk.SetTime(clk.Now().Add(coalesce.Interval))
	e.edit(sup, func(s *v1alpha1.Superset) { s.Spec.Suspend = new(true) })
	e.reconcileUntil(sup, nil, phase(v1alpha1.PhaseSuspended))
	replicas := func(s *v1alpha1.Superset) int32 { return s.Status.Components.WebServer.Replicas }
	before := replicas(sup)

	web := &appsv1.Deployment{}
	web.Namespace, web.Name = e.namespace, "development-web-server"
	scale := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, before+1))
	if err := e.client.Patch(t.Context(), web, scale); err != nil {
		t.Fatal(err)
	}
	expect.Eventually(t, timeout, func() error {
		result, err := e.reconciler.Reconcile(t.Context(), request(sup))
		if err == nil && result.RequeueAfter > coalesce.Interval-time.Second && result.RequeueAfter <= coalesce.Interval {
			return nil
		}
		return fmt.Errorf("result %+v, error %w, want a requeue after %v", result, err, coalesce.Interval)
	})
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(sup), sup); err != nil || replicas(sup) != before {
		t.Errorf("%d replicas are written without a delay, error %v", replicas(sup), err)
	}
	clk.SetTime(clk.Now().Add(coalesce.Interval))
	e.reconcileUntil(sup, nil, func(s *v1alpha1.Superset) error {
		if replicas(s) != before+1 {
			return fmt.Errorf("%d replicas", replicas(s))
		}
		return nil
	})
}
