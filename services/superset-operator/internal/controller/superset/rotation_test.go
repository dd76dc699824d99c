package superset_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

func secretKey(name, key string) *corev1.SecretKeySelector {
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: key}
}

// secretRef returns the reference of a variable of the web server, as "secret/key".
func secretRef(d *appsv1.Deployment, name string) string {
	i := slices.IndexFunc(d.Spec.Template.Spec.Containers[0].Env, func(e corev1.EnvVar) bool { return e.Name == name })
	if i < 0 {
		return ""
	}
	ref := d.Spec.Template.Spec.Containers[0].Env[i].ValueFrom.SecretKeyRef
	return ref.Name + "/" + ref.Key
}

func TestRotationReencryptsBetweenMigrateAndInit(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(tasks(finishAfter("100ms"))))

	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		s.Spec.PreviousSecretKeyFrom, s.Spec.SecretKeyFrom = s.Spec.SecretKeyFrom, secretKey("lab-v2", "secret-key")
		s.Spec.Lifecycle.Rotate = &v1alpha1.RotateTaskSpec{}
	})
	l.waitFor(sup, all(settled, task("rotate", v1alpha1.TaskComplete, 1)))
	l.history.checkTasks("rotate")
	want := []string{"preflight apache/superset:6.0.0", "rotate apache/superset:6.0.0", "init apache/superset:6.0.0"}
	if diff := cmp.Diff(want, l.history.tasks(start)); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	steps := sequence(l.history, start, "lab", func(s *v1alpha1.Superset) string { return string(s.Status.Lifecycle.Phase) })
	if diff := cmp.Diff([]string{"Complete", "Checking", "Draining", "Rotating", "Initializing", "Restoring", "Complete"}, steps); diff != "" {
		t.Errorf("lifecycle phases differ (-want +got):\n%s", diff)
	}
	d := l.deployment("web-server")
	now, before := secretRef(d, "SUPERSET_OPERATOR__SECRET_KEY"), secretRef(d, "SUPERSET_OPERATOR__PREVIOUS_SECRET_KEY")
	if now != "lab-v2/secret-key" || before != "lab/secret-key" {
		t.Errorf("the web server has keys %q and %q", now, before)
	}

	// The documented cleanup must neither migrate again nor drain.
	start = l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { s.Spec.PreviousSecretKeyFrom, s.Spec.Lifecycle.Rotate = nil, nil })
	l.waitFor(sup, settled)
	l.waitRolledOut("web-server", func(*appsv1.Deployment) error { return nil })
	// The preflight checks first that the new key alone is enough.
	if diff := cmp.Diff([]string{"preflight", "init"}, taskNames(l.history.tasks(start))); diff != "" {
		t.Errorf("tasks after the previous key was removed differ (-want +got):\n%s", diff)
	}
	for _, v := range versions[*appsv1.Deployment](l.history, start, "lab-web-server") {
		if v.deleted {
			t.Error("removing the previous key drained the web server")
		}
	}
	if sup.Status.Lifecycle.Rotate != nil || secretRef(l.deployment("web-server"), "SUPERSET_OPERATOR__PREVIOUS_SECRET_KEY") != "" {
		t.Errorf("not removed: %+v", sup.Status.Lifecycle.Rotate)
	}
}

func TestRotateRunsAgainForTrigger(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery(func(s *v1alpha1.Superset) {
		s.Spec.PreviousSecretKeyFrom = secretKey("lab-v0", "secret-key")
		s.Spec.Lifecycle.Rotate = &v1alpha1.RotateTaskSpec{}
	}))
	l.history.catchUp()
	if diff := cmp.Diff([]string{"migrate", "rotate", "init"}, taskNames(l.history.tasks(0))); diff != "" {
		t.Errorf("tasks of the installation differ (-want +got):\n%s", diff)
	}
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Rotate.Trigger = "the Secret's content changed" })
	l.waitFor(sup, settled)
	l.history.checkTasks("rotate")
	if diff := cmp.Diff([]string{"preflight", "rotate", "init"}, taskNames(l.history.tasks(start))); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
}

// TestInvalidKeysChangeNoComponent checks that neither a rotation with a wrong key nor a new key without a rotation
// drains components or reaches a pod, and that a revert restores the former state.
func TestInvalidKeysChangeNoComponent(t *testing.T) {
	t.Parallel()
	const cause = "check: the secret key does not decrypt 3 of 3 stored secrets"
	edits := map[string]func(*v1alpha1.Superset){
		"another key alone": func(s *v1alpha1.Superset) { s.Spec.SecretKeyFrom = secretKey("lab-v2", "secret-key") },
		"a rotation, with another image": func(s *v1alpha1.Superset) {
			s.Spec.PreviousSecretKeyFrom, s.Spec.SecretKeyFrom = secretKey("lab-v0", "secret-key"), secretKey("lab-v2", "secret-key")
			s.Spec.Lifecycle.Rotate = &v1alpha1.RotateTaskSpec{}
			image("6.1.0")(s)
		},
		"another key while an approval is awaited": func(s *v1alpha1.Superset) {
			mode := v1alpha1.UpgradeSupervised
			s.Spec.Lifecycle.UpgradeMode, s.Spec.SecretKeyFrom = &mode, secretKey("lab-v2", "secret-key")
			image("6.1.0")(s)
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(celery(tasks(finishAfter("50ms"))))
			before := l.deployment("web-server")
			pods := l.pods()
			start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { tasks(failWith("1", cause))(s); edit(s) })
			awaitsApproval := sup.Spec.Lifecycle.UpgradeMode != nil && *sup.Spec.Lifecycle.UpgradeMode == v1alpha1.UpgradeSupervised
			if awaitsApproval {
				l.waitFor(sup, phase(v1alpha1.PhaseAwaitingApproval))
			} else {
				l.waitFor(sup, condition("LifecycleComplete", metav1.ConditionFalse, "TaskRetrying"))
				if text := message(sup, "LifecycleComplete"); !strings.HasSuffix(text, cause+".") {
					t.Errorf("the condition does not end with the cause: %s", text)
				}
			}
			l.checkPodsUnchanged(pods)
			if after := l.deployment("web-server"); after.Generation != before.Generation {
				t.Errorf("the web server got %s", secretRef(after, "SUPERSET_OPERATOR__SECRET_KEY"))
			}
			l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
				tasks(finishAfter("50ms"))(s)
				s.Spec.SecretKeyFrom, s.Spec.PreviousSecretKeyFrom = secretKey("lab", "secret-key"), nil
				s.Spec.Lifecycle.Rotate, s.Spec.Lifecycle.UpgradeMode = nil, nil
				image("6.0.0")(s)
			})
			l.waitFor(sup, settled)
			l.checkPodsUnchanged(pods)
			for _, started := range taskNames(l.history.tasks(start)) {
				if started != "preflight" {
					t.Errorf("task %s ran", started)
				}
			}
		})
	}
}
