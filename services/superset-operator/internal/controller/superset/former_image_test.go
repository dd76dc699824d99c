package superset_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestRejectedUpgradeStartsNoFormerImage upgrades a Superset whose worker has no pods, and whose upgraded worker is
// rejected. The worker must not start on its former image afterwards, since the metastore is migrated.
func TestRejectedUpgradeStartsNoFormerImage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		// next is a change after the upgrade, check the state that holds the images.
		next  func(*v1alpha1.Superset)
		check func(*v1alpha1.Superset) error
		// worker is the image of the worker in that state, and replicas its number of pods.
		worker   string
		replicas int32
	}{
		"init fails": {
			next: func(s *v1alpha1.Superset) {
				s.Spec.Lifecycle.Init = &v1alpha1.InitTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Trigger: "again", MaxRetries: new(int32(1))}}
				tasks(failWith("1", ""))(s)
			},
			check: all(task("init", v1alpha1.TaskFailed, 1), phase(v1alpha1.PhaseBlocked)), worker: "apache/superset:6.1.0", replicas: 1,
		},
		"a newer image waits": {
			next:  func(s *v1alpha1.Superset) { supervised(s); image("6.2.0")(s) },
			check: condition("LifecycleComplete", metav1.ConditionFalse, "AwaitingApproval"), worker: "apache/superset:6.0.0",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var rejection atomic.Pointer[error]
			l := newParallelEnv(t, options{wrap: func(c client.Client) client.Client {
				return rejectingClient{Client: c, name: " lab-celery-worker", rejection: &rejection}
			}})
			sup := l.createRunning(minimal(func(s *v1alpha1.Superset) {
				s.Spec.CeleryWorker = &v1alpha1.CeleryWorkerSpec{}
				s.Spec.CeleryWorker.Replicas = new(int32(0))
			}))
			l.waitRolledOut("celery-worker", replicas(0))
			rejected := error(apierrors.NewForbidden(schema.GroupResource{Resource: "deployments"}, "lab-celery-worker", fmt.Errorf("of a policy")))
			rejection.Store(&rejected)
			start := l.editAndGetRevision(sup, image("6.1.0"))
			l.waitRolledOut("web-server", runs("apache/superset:6.1.0"))
			l.edit(sup, func(s *v1alpha1.Superset) {
				tc.next(s)
				s.Spec.WebServer.Replicas, s.Spec.CeleryWorker.Replicas = new(int32(2)), new(int32(1))
			})
			l.waitFor(sup, tc.check)
			rejection.Store(nil)
			l.waitRolledOut("web-server", replicas(2)) // the change is applied, except for its image
			l.waitRolledOut("celery-worker", func(d *appsv1.Deployment) error {
				if err := runs(tc.worker)(d); err != nil {
					return err
				}
				return replicas(tc.replicas)(d)
			})
			l.edit(sup, func(s *v1alpha1.Superset) {
				tasks(nil)(s)
				s.Spec.Lifecycle.PodTemplate.TerminationGracePeriodSeconds = new(int64(5))
				s.Spec.Lifecycle.UpgradeMode = nil
			})
			l.waitFor(sup, settled)
			l.checkNeverStarted("celery-worker", "apache/superset:6.0.0", start)
		})
	}
}

// checkNeverStarted checks that no version of a component's Deployment from a revision on desired pods with the image.
func (l *recordedEnv) checkNeverStarted(slug, image string, since int64) {
	l.t.Helper()
	l.history.catchUp()
	for _, v := range versions[*appsv1.Deployment](l.history, since, "lab-"+slug) {
		if d, ok := v.object.(*appsv1.Deployment); ok && runs(image)(d) == nil && replicas(0)(d) != nil {
			l.t.Errorf("%s started on %s", slug, image)
		}
	}
}

// TestBlockedDowngradeStartsWebsocketServer starts a stopped Superset while a downgrade is blocked. The version of the websocket
// server is its own, and it does not use the metastore.
func TestBlockedDowngradeStartsWebsocketServer(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(full(func(s *v1alpha1.Superset) { s.Spec.WebsocketServer.Image.Tag = new("1.4.2") }))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, all(phase(v1alpha1.PhaseStopped), condition("Stopped", metav1.ConditionTrue, "Stopped")))
	l.edit(sup, func(s *v1alpha1.Superset) {
		image("5.0.0")(s)
		s.Annotations = nil
	})
	l.waitRolledOut("websocket-server", replicas(1))
	l.waitFor(sup, condition("LifecycleComplete", metav1.ConditionFalse, "DowngradeBlocked"))
}

// runs returns a check that the main container of a Deployment has the image.
func runs(image string) func(*appsv1.Deployment) error {
	return func(d *appsv1.Deployment) error {
		if got := runningImage(d); got != image {
			return fmt.Errorf("%s has image %s, want %s", d.Name, got, image)
		}
		return nil
	}
}
