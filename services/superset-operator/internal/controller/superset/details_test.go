package superset_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
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
