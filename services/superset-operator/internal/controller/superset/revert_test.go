package superset_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestW3RevertedImageRestoresComponentsWithoutTask reverts an upgrade at several points. Once the migration is
// complete, the revert is a downgrade.
func TestW3RevertedImageRestoresComponentsWithoutTask(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		// tasks are annotations of the tasks of the upgrade; waitForPoint waits for the point of the revert.
		tasks        map[string]string
		waitForPoint func(l *recordedEnv, sup *v1alpha1.Superset)
		// started are the tasks of the upgrade that started before the revert.
		started []string
		// downgrade reports whether the revert requires an approval.
		downgrade bool
	}{
		"while migrate runs": {
			tasks: map[string]string{controlplane.FinishAfterAnnotation: "1h", controlplane.EndAfterAnnotation: "500ms"},
			waitForPoint: func(l *recordedEnv, sup *v1alpha1.Superset) {
				l.waitFor(sup, task("migrate", v1alpha1.TaskRunning, 1))
				l.podOf("migrate", corev1.PodRunning)
			},
			started: []string{"migrate"},
		},
		"after migrate, while init runs": {
			tasks: finishAfter("1500ms"),
			waitForPoint: func(l *recordedEnv, sup *v1alpha1.Superset) {
				l.waitFor(sup, task("init", v1alpha1.TaskRunning, 1))
				l.podOf("init", corev1.PodRunning)
			},
			started: []string{"migrate", "init"}, downgrade: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(celery())
			start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { disablePreflight(s); tasks(tc.tasks)(s); image("6.1.0")(s) })
			tc.waitForPoint(l, sup)
			if tc.downgrade {
				l.edit(sup, image("6.0.0"))
				l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("LifecycleComplete", metav1.ConditionFalse, "DowngradeBlocked")))
				if sup.Status.Lifecycle.MigratedImage != "apache/superset:6.1.0" || len(l.owned(&appsv1.DeploymentList{}, sup)) != 1 {
					t.Errorf("migrated for %q, and components run besides the page", sup.Status.Lifecycle.MigratedImage)
				}
				l.edit(sup, annotate(v1alpha1.AnnotationApproveDowngrade, sup.Status.Lifecycle.Upgrade.ApprovalToken))
			}
			l.checkRevert(sup, start, tc.started)
		})
	}
}

// checkRevert reverts the image and checks that the former state is restored.
func (l *recordedEnv) checkRevert(sup *v1alpha1.Superset, start int64, started []string) {
	l.t.Helper()
	l.edit(sup, image("6.0.0"))
	l.waitFor(sup, all(settled, lifecyclePhase(v1alpha1.LifecycleComplete),
		condition("LifecycleComplete", metav1.ConditionTrue, "LifecycleComplete"), func(s *v1alpha1.Superset) error {
			if lc := s.Status.Lifecycle; lc.Upgrade != nil || lc.MaintenanceActive || lc.MigratedImage != "" || s.Status.LastLifecycleImage != "apache/superset:6.0.0" {
				return fmt.Errorf("not removed: %+v, image %s", lc, s.Status.LastLifecycleImage)
			}
			return nil
		}))
	l.history.checkTasks("migrate")
	if diff := cmp.Diff(started, taskNames(l.history.tasks(start))); diff != "" {
		l.t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	for slug, c := range components(sup) {
		if c.Phase != v1alpha1.ComponentReady || slug != "websocket-server" && c.Image != "apache/superset:6.0.0" {
			l.t.Errorf("%s is %s with %s", slug, c.Phase, c.Image)
		}
	}
	for _, kind := range []string{"migrate", "init"} {
		if entry := entryOf(sup, kind); entry.State != v1alpha1.TaskComplete || entry.Image != "apache/superset:6.0.0" {
			l.t.Errorf("task %s: %+v", kind, entry)
		}
	}
	// The old pods start only after the last pod of the new version's tasks has terminated.
	for _, task := range l.history.podLifetimes() {
		for _, p := range l.history.podLifetimes() {
			if task.task != "" && task.start > start && p.task == "" && p.start > task.start && p.start < task.end && p.component != "maintenance-page" {
				l.t.Errorf("pod %s started while %s still ran", p.name, task.name)
			}
		}
	}
}

// TestW19FailedDrainedUpgradeIsReversible checks the state after a failed migration: the page stays, the old version
// does not start, since the schema may be partly migrated, and reverting the image starts it without a task.
func TestW19FailedDrainedUpgradeIsReversible(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery())
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		disablePreflight(s)
		maxOneAttempt(s)
		tasks(failWith("1", "no such column"))(s)
		image("6.1.0")(s)
	})
	l.waitFor(sup, all(task("migrate", v1alpha1.TaskFailed, 1), phase(v1alpha1.PhaseBlocked),
		condition("LifecycleComplete", metav1.ConditionFalse, "TaskFailed"), condition("Degraded", metav1.ConditionTrue, "JobFailed")))
	service := get(l.env, "lab-web-server", &corev1.Service{})
	if !sup.Status.Lifecycle.MaintenanceActive || !selects("maintenance-page")(service) {
		t.Errorf("the page was removed: %+v, selector %v", sup.Status.Lifecycle, service.Spec.Selector)
	}
	if n := len(l.owned(&appsv1.DeploymentList{}, sup)); n != 1 {
		t.Errorf("%d Deployments, want only the one of the page", n)
	}
	l.checkRevert(sup, start, []string{"migrate"})
	if reverted := get(l.env, "lab-web-server", &corev1.Service{}); !selects("web-server")(reverted) {
		t.Errorf("the Service selects %v", reverted.Spec.Selector)
	}
}

func TestRevertBeforeFirstTaskRestartsNoPod(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(supervised))
	pods, start := l.pods(), l.editAndGetRevision(sup, image("6.1.0"))
	l.waitAwaitingApproval(sup, "6.1.0")
	l.checkRevert(sup, start, nil)
	l.checkPodsUnchanged(pods)
	if i := slices.IndexFunc(versions[*appsv1.Deployment](l.history, start, "lab-web-server"), func(v version) bool { return v.deleted }); i >= 0 {
		t.Error("the web server was removed")
	}
}
