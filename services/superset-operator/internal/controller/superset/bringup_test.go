package superset_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// checkWebServerFirst checks that the Deployments of the other components that run Superset were created after the
// web server, created after the revision, had a ready pod.
func (l *recordedEnv) checkWebServerFirst(since int64) {
	l.t.Helper()
	web := creationRevision[*appsv1.Deployment](l.history, since, "lab-web-server")
	ready := namedRevision{"a ready web server", firstRevision(l.history, web, "lab-web-server", hasReadyPod)}
	for _, slug := range []string{"celery-worker", "celery-beat", "celery-flower", "mcp-server"} {
		checkAscending(l.t, ready, namedRevision{"the Deployment of " + slug, creationRevision[*appsv1.Deployment](l.history, since, "lab-"+slug)})
	}
}

// TestComponentsStartWithoutUnreadyWebServer checks that a web server that does not become ready delays other
// components at most as long as its startup probe allows.
func TestComponentsStartWithoutUnreadyWebServer(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.create(minimal(func(s *v1alpha1.Superset) {
		s.Spec.WebServer.PodTemplate = &v1alpha1.PodTemplate{
			Annotations: map[string]string{controlplane.ReadyAfterAnnotation: "1h"},
			Container: &v1alpha1.ContainerTemplate{StartupProbe: &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}},
				PeriodSeconds: 1, FailureThreshold: 3,
			}},
		}
		s.Spec.CeleryBeat = &v1alpha1.CeleryBeatSpec{}
	})(l.env))
	beat := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-celery-beat"}}
	expect.Object(t, l.client, beat, func(*appsv1.Deployment) error { return nil })
	waiting := sequence(l.history, 0, "lab", func(s *v1alpha1.Superset) string {
		if c := components(s)["celery-beat"]; c != nil && c.Message == "The component waits for the web server, which starts first." {
			return c.Message
		}
		return ""
	})
	if len(waiting) != 1 {
		t.Errorf("the status does not report that the scheduler waits: %s", text(sup))
	}
	if web := l.deployment("web-server"); web.Status.ReadyReplicas != 0 {
		t.Errorf("the web server has %d ready pods", web.Status.ReadyReplicas)
	}
}

// TestRejectedWebServerDelaysNoOther rejects the web server, which then never starts.
func TestRejectedWebServerDelaysNoOther(t *testing.T) {
	rejected := error(apierrors.NewForbidden(appsv1.Resource("deployments"), "lab-web-server", errors.New("a policy denied the request")))
	var rejection atomic.Pointer[error]
	rejection.Store(&rejected)
	l := newParallelEnv(t, options{wrap: func(c client.Client) client.Client {
		return rejectingClient{Client: c, name: " lab-web-server", rejection: &rejection}
	}})
	sup := l.create(minimal(func(s *v1alpha1.Superset) { s.Spec.CeleryBeat = &v1alpha1.CeleryBeatSpec{} })(l.env))
	l.waitRolledOut("celery-beat", replicas(1))
	rejection.Store(nil)
	l.waitFor(sup, settled)
}

// TestToleratedFailureKeepsTimer rejects a change of a web server that does not become ready: the other components wait for
// the end of its startup probe, not for the backoff of that failure.
func TestToleratedFailureKeepsTimer(t *testing.T) {
	rejected := error(apierrors.NewForbidden(corev1.Resource("services"), "lab-web-server", errors.New("a policy denied the request")))
	var rejection atomic.Pointer[error]
	l := newParallelEnv(t, options{idle: true, wrap: func(c client.Client) client.Client {
		return rejectingClient{Client: c, name: " lab-web-server", rejection: &rejection}
	}})
	sup := l.create(minimal(func(s *v1alpha1.Superset) {
		s.Spec.WebServer.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{controlplane.ReadyAfterAnnotation: "1h"}}
		s.Spec.CeleryBeat = &v1alpha1.CeleryBeatSpec{}
	})(l.env))
	l.reconcileUntil(sup, nil, func(*v1alpha1.Superset) error {
		return l.client.Get(t.Context(), client.ObjectKey{Namespace: l.namespace, Name: "lab-web-server"}, &appsv1.Deployment{})
	})
	rejection.Store(&rejected)
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.WebServer.Service = &v1alpha1.ComponentServiceSpec{Annotations: map[string]string{"a": "b"}}
	})
	var result ctrl.Result
	var err error
	expect.Eventually(t, timeout, func() error {
		if result, err = l.reconciler.Reconcile(t.Context(), request(sup)); !errors.Is(err, rejected) {
			return fmt.Errorf("error %q, want the rejection", fmt.Sprint(err))
		}
		return nil
	})
	if result.RequeueAfter <= 0 {
		t.Errorf("no timer after the failure %v", err)
	}
}
