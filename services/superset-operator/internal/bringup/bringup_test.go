package bringup_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/bringup"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// budget is the time that the default startup probe allows the web server.
const budget = 10 * time.Minute

func components(t *testing.T, edit func(*v1alpha1.SupersetSpec)) []desired.Component {
	t.Helper()
	sup := &v1alpha1.Superset{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x", UID: "uid"},
		Spec: v1alpha1.SupersetSpec{
			Image:     v1alpha1.ImageSpec{Repository: "apache/superset", Tag: "6.1.0"},
			WebServer: &v1alpha1.WebServerSpec{}, CeleryWorker: &v1alpha1.CeleryWorkerSpec{},
			CeleryBeat: &v1alpha1.CeleryBeatSpec{}, CeleryFlower: &v1alpha1.CeleryFlowerSpec{},
			MCPServer: &v1alpha1.MCPServerSpec{}, WebsocketServer: &v1alpha1.WebsocketServerSpec{},
		},
	}
	if edit != nil {
		edit(&sup.Spec)
	}
	state, err := desired.For(desired.Input{Superset: sup})
	if err != nil {
		t.Fatal(err)
	}
	return state.Components
}

func deployed(age time.Duration, ready int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age)), Generation: 2},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, ReadyReplicas: ready},
	}
}

func TestOrder(t *testing.T) {
	zero := int32(0)
	terminating := deployed(time.Hour, 1)
	terminating.DeletionTimestamp = &metav1.Time{Time: now}
	unobserved := deployed(time.Minute, 1)
	unobserved.Status.ObservedGeneration = 1
	for name, test := range map[string]struct {
		edit  func(*v1alpha1.SupersetSpec)
		exist map[string]*appsv1.Deployment
		until time.Time // zero: no component waits
	}{
		"no Deployment exists":         {until: now.Add(budget)},
		"the web server starts":        {exist: map[string]*appsv1.Deployment{"web-server": deployed(time.Minute, 0)}, until: now.Add(budget - time.Minute)},
		"the old one is terminating":   {exist: map[string]*appsv1.Deployment{"web-server": terminating}, until: now.Add(budget)},
		"it is not observed yet":       {exist: map[string]*appsv1.Deployment{"web-server": unobserved}, until: now.Add(budget - time.Minute)},
		"it serves":                    {exist: map[string]*appsv1.Deployment{"web-server": deployed(time.Minute, 1)}},
		"it exceeds its startup probe": {exist: map[string]*appsv1.Deployment{"web-server": deployed(budget, 0)}},
		"an old one lost a pod":        {exist: map[string]*appsv1.Deployment{"web-server": deployed(time.Hour, 0)}},
		"the spec has no web server":   {edit: func(s *v1alpha1.SupersetSpec) { s.WebServer = nil }},
		"it is scaled to zero":         {edit: func(s *v1alpha1.SupersetSpec) { s.WebServer.Replicas = &zero }},
		"a startup probe of a minute": {edit: func(s *v1alpha1.SupersetSpec) {
			s.WebServer.PodTemplate = &v1alpha1.PodTemplate{Container: &v1alpha1.ContainerTemplate{
				StartupProbe: &corev1.Probe{InitialDelaySeconds: 10, PeriodSeconds: 5, FailureThreshold: 10},
			}}
		}, until: now.Add(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			got := bringup.For(components(t, test.edit), &snapshot.Snapshot{Deployments: test.exist}, now)
			if !got.Until.Equal(test.until) {
				t.Errorf("until %s instead of %s", got.Until, test.until)
			}
			for _, slug := range []string{"celery-worker", "celery-beat", "celery-flower", "mcp-server"} {
				if got.IsDelayed(slug) != !test.until.IsZero() {
					t.Errorf("%s waits: %t", slug, got.IsDelayed(slug))
				}
			}
			// The web server serves users, and the websocket server does not import Superset.
			for _, slug := range []string{"web-server", "websocket-server"} {
				if got.IsDelayed(slug) {
					t.Errorf("%s waits", slug)
				}
			}
		})
	}
}

func TestExistingComponentIsNotDelayed(t *testing.T) {
	got := bringup.For(components(t, nil), &snapshot.Snapshot{Deployments: map[string]*appsv1.Deployment{
		"web-server": deployed(time.Minute, 0), "celery-worker": deployed(time.Minute, 0),
	}}, now)
	if got.IsDelayed("celery-worker") || !got.IsDelayed("celery-beat") {
		t.Error("an existing worker waits, or a missing scheduler does not")
	}
}
