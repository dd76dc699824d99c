package superset_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
