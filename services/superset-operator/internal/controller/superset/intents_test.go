package superset_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func TestPausedSupersetIsObservedOnly(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		pause, resume func(*v1alpha1.Superset)
		reason        string
	}{
		"by spec.suspend": {
			pause:  func(s *v1alpha1.Superset) { s.Spec.Suspend = new(true); s.Spec.Image.Tag = "6.0.1" },
			resume: func(s *v1alpha1.Superset) { s.Spec.Suspend = nil }, reason: "Suspended",
		},
		"by annotation": {
			pause: func(s *v1alpha1.Superset) {
				s.Annotations = map[string]string{"operator-command": "Paused"}
				s.Spec.Image.Tag = "6.0.1"
			},
			resume: func(s *v1alpha1.Superset) { s.Annotations = nil }, reason: "OperatorCommand",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := start(t, options{})
			sup := e.create(e.sample("development.yaml"))
			e.waitFor(sup, phase(v1alpha1.PhaseRunning))
			e.edit(sup, tc.pause)
			e.waitFor(sup, phase(v1alpha1.PhaseSuspended))
			if got := expect.Condition(t, e.client, sup, "Suspended", metav1.ConditionTrue); got.Reason != tc.reason {
				t.Errorf("reason %s", got.Reason)
			}
			expect.Condition(t, e.client, sup, "Paused", metav1.ConditionTrue)

			d := get(e, "development-web-server", &appsv1.Deployment{})
			d.Spec.Replicas = new(int32(1))
			if err := e.client.Update(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			e.waitFor(sup, func(s *v1alpha1.Superset) error {
				if s.Status.Components.WebServer.Ready != "1/1" || s.Status.Phase != v1alpha1.PhaseSuspended {
					return fmt.Errorf("web server %s in phase %s", s.Status.Components.WebServer.Ready, s.Status.Phase)
				}
				return nil
			})
			if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || *d.Spec.Replicas != 1 {
				t.Errorf("the paused operator scaled the Deployment to %d (%v)", *d.Spec.Replicas, err)
			}
			e.edit(sup, tc.resume)
			e.waitFor(sup, phase(v1alpha1.PhaseRunning))
			if sup.Status.LastLifecycleImage != "apache/superset:6.0.1" || sup.Status.Ready != "2/2" {
				t.Errorf("after the pause: %s, %s", sup.Status.LastLifecycleImage, sup.Status.Ready)
			}
		})
	}
}

func TestStoppedSupersetRunsNoPodsAndRestarts(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.edit(sup, func(s *v1alpha1.Superset) { s.Annotations = map[string]string{"operator-command": "Stopped"} })
	e.waitFor(sup, phase(v1alpha1.PhaseStopped))
	expect.Condition(t, e.client, sup, "Stopped", metav1.ConditionTrue)
	var pods corev1.PodList
	if err := e.client.List(t.Context(), &pods, client.InNamespace(e.namespace), client.MatchingLabels{v1alpha1.LabelComponent: "web-server"}); err != nil || len(pods.Items) > 0 {
		t.Errorf("%d pods still exist (%v)", len(pods.Items), err)
	}
	get(e, "development-web-server", &corev1.Service{})
	e.edit(sup, func(s *v1alpha1.Superset) { s.Annotations = nil })
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	if sup.Status.Ready != "2/2" {
		t.Errorf("ready %s", sup.Status.Ready)
	}
}

// TestSupersetCreatedStoppedIsStopped checks that a stopped Superset that never ran, and one whose spec changes while
// it is stopped, are neither progressing nor degraded.
func TestSupersetCreatedStoppedIsStopped(t *testing.T) {
	t.Parallel()
	e := start(t, options{})
	stopped := map[string]string{"operator-command": "Stopped"}
	sup := e.create(e.sample("development.yaml", func(s *v1alpha1.Superset) { s.Annotations = stopped }))
	isStopped := all(phase(v1alpha1.PhaseStopped), condition("Stopped", metav1.ConditionTrue, "Stopped"),
		condition("Progressing", metav1.ConditionFalse, "AsExpected"), condition("Degraded", metav1.ConditionFalse, "Stopped"))
	e.waitFor(sup, isStopped)
	e.edit(sup, func(s *v1alpha1.Superset) { s.Annotations = nil })
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	e.edit(sup, func(s *v1alpha1.Superset) { s.Annotations = stopped })
	e.waitFor(sup, isStopped)
	e.edit(sup, image("6.0.2"))
	e.waitFor(sup, all(isStopped, func(s *v1alpha1.Superset) error {
		for _, c := range s.Status.Conditions {
			if c.Type == "Progressing" && c.ObservedGeneration != s.Generation {
				return fmt.Errorf("Progressing has observedGeneration %d, want %d", c.ObservedGeneration, s.Generation)
			}
		}
		return nil
	}))
}
