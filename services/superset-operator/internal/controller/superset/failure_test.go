package superset_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// migrateLog is the end of a migration's log, with three secrets in it.
const migrateLog = "INFO  [alembic] Running upgrade a -> b\n" +
	"sqlalchemy.exc.OperationalError: postgresql://superset:hunter2@postgres/superset\n" +
	"password=correct-horse Authorization: Bearer abc123token\n" +
	"alembic.util.exc.CommandError: Can't locate revision"

// maxOneAttempt limits each task to one attempt.
func maxOneAttempt(s *v1alpha1.Superset) {
	s.Spec.Lifecycle.Migrate = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{MaxRetries: new(int32(1))}}
}

func TestFailedMigrateIsReportedAndRecovers(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.create(minimal(maxOneAttempt, tasks(failWith("3", migrateLog)))(l.env))
	l.waitFor(sup, all(task("migrate", v1alpha1.TaskFailed, 1), phase(v1alpha1.PhaseBlocked), stalled("JobFailed", metav1.ConditionTrue),
		condition("LifecycleComplete", metav1.ConditionFalse, "TaskFailed"), lifecyclePhase(v1alpha1.LifecycleBlocked)))
	entry := sup.Status.Lifecycle.Migrate
	const cause = `container "superset" ended with exit code 3 (Done): alembic.util.exc.CommandError: Can't locate revision`
	if entry.ExitCode == nil || *entry.ExitCode != 3 || entry.Message != cause {
		t.Errorf("task %+v", entry)
	}
	if text := message(sup, "LifecycleComplete"); !strings.HasSuffix(text, ": "+cause+".") {
		t.Errorf("the condition does not end with the cause: %s", text)
	}
	for _, part := range []string{"Can't locate revision", "Running upgrade a -> b", "***"} {
		if !strings.Contains(entry.LogTail, part) {
			t.Errorf("%q is not in the log tail:\n%s", part, entry.LogTail)
		}
	}
	l.checkNoSecrets(sup, "hunter2", "correct-horse", "abc123token")
	l.waitEvents(map[string]int{"Normal LifecycleStarted": 1, "Normal TaskStarted": 1, "Warning TaskFailed": 1, "Normal TaskSucceeded": 0})
	// RetainOnFailure is the default.
	failed := get(l.env, "lab-migrate", &batchv1.Job{})
	l.podOf("migrate", corev1.PodFailed)

	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.Migrate.Command = []string{"/bin/sh", "-c", "superset db upgrade && true"}
		tasks(finishAfter("50ms"))(s)
	})
	l.waitFor(sup, all(settled, task("migrate", v1alpha1.TaskComplete, 1)))
	l.history.checkTasks("migrate")
	if diff := cmp.Diff([]string{"migrate", "init"}, taskNames(l.history.tasks(start))); diff != "" {
		t.Errorf("tasks differ (-want +got):\n%s", diff)
	}
	l.waitEvents(map[string]int{"Normal LifecycleStarted": 1, "Normal TaskStarted": 3, "Normal LifecycleComplete": 1})
	if entry := sup.Status.Lifecycle.Migrate; entry.ExitCode != nil || entry.LogTail != "" || entry.Message != "" {
		t.Errorf("the status still contains the failure: %+v", entry)
	}
	expect.Deleted(t, l.client, failed)
}

// checkNoSecrets checks that no object and event that other users may read contains the secrets.
func (l *recordedEnv) checkNoSecrets(sup *v1alpha1.Superset, secrets ...string) {
	l.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "%+v", sup.Status)
	for _, entry := range []*v1alpha1.TaskRefStatus{entryOf(sup, "migrate"), entryOf(sup, "init")} {
		fmt.Fprintf(&text, "%+v", entry)
	}
	fmt.Fprintf(&text, "%+v", l.reports.lastOf(sup.Name))
	var events eventsv1.EventList
	var configs corev1.ConfigMapList
	for _, list := range []client.ObjectList{&events, &configs} {
		if err := l.client.List(l.t.Context(), list, client.InNamespace(l.namespace)); err != nil {
			l.t.Fatal(err)
		}
		fmt.Fprintf(&text, "%+v", list)
	}
	for _, w := range secrets {
		if i := strings.Index(text.String(), w); i >= 0 {
			l.t.Errorf("%q is exposed: %s", w, text.String()[max(0, i-100):min(len(text.String()), i+100)])
		}
	}
}

func TestRetentionPoliciesKeepJobs(t *testing.T) {
	t.Parallel()
	cases := map[v1alpha1.RetentionPolicy]struct{ succeeded, failed bool }{
		v1alpha1.RetentionDelete:          {},
		v1alpha1.RetentionRetain:          {succeeded: true, failed: true},
		v1alpha1.RetentionRetainOnFailure: {failed: true},
	}
	for policy, want := range cases {
		t.Run(string(policy), func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(minimal(func(s *v1alpha1.Superset) {
				s.Spec.Lifecycle.PodRetention = &v1alpha1.PodRetentionSpec{Policy: policy}
			}))
			l.jobs(map[string]bool{"lab-migrate": want.succeeded, "lab-init": want.succeeded})
			l.edit(sup, func(s *v1alpha1.Superset) {
				disablePreflight(s)
				maxOneAttempt(s)
				tasks(failWith("1", ""))(s)
				image("6.1.0")(s)
			})
			l.waitFor(sup, task("migrate", v1alpha1.TaskFailed, 1))
			l.jobs(map[string]bool{"lab-migrate": want.failed, "lab-init": want.succeeded})
			l.waitFor(sup, all(task("migrate", v1alpha1.TaskFailed, 1), condition("LifecycleComplete", metav1.ConditionFalse, "TaskFailed")))
			if entry := sup.Status.Lifecycle.Migrate; entry.ExitCode == nil || *entry.ExitCode != 1 {
				t.Errorf("task %+v", entry)
			}
		})
	}
}

// jobs waits until exactly the named Jobs exist.
func (l *recordedEnv) jobs(want map[string]bool) {
	l.t.Helper()
	expect.Eventually(l.t, timeout, func() error {
		var list batchv1.JobList
		if err := l.client.List(l.t.Context(), &list, client.InNamespace(l.namespace)); err != nil {
			return err
		}
		got := map[string]bool{}
		for i := range list.Items {
			got[list.Items[i].Name] = true
		}
		for name, wantExists := range want {
			if got[name] != wantExists {
				return fmt.Errorf("%s exists: %v, want %v", name, got[name], wantExists)
			}
		}
		return nil
	})
}

// TestW22ChangedPodSettingsRestartFailedTask uses a task that failed permanently and whose Job the retention policy
// deleted.
func TestW22ChangedPodSettingsRestartFailedTask(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.create(minimal(maxOneAttempt, tasks(failWith("1", "")), func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.PodRetention = &v1alpha1.PodRetentionSpec{Policy: v1alpha1.RetentionDelete}
	})(l.env))
	l.waitFor(sup, task("migrate", v1alpha1.TaskFailed, 1))
	l.jobs(map[string]bool{"lab-migrate": false})
	l.edit(sup, func(s *v1alpha1.Superset) {
		tasks(finishAfter("50ms"))(s)
		s.Spec.Lifecycle.PodTemplate.TerminationGracePeriodSeconds = new(int64(5))
	})
	l.waitFor(sup, settled)
	l.history.checkTasks("migrate")
	l.waitEvents(map[string]int{"Normal TaskRecovering": 1})
}

// TestW22PodStartFailureIsReportedAndRecovers covers the reasons why a task's pod cannot start.
func TestW22PodStartFailureIsReportedAndRecovers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fail, fix func(*v1alpha1.Superset)
		want      []string
		degraded  string // immediately; empty: only after a delay
	}{
		"an image that does not exist": {
			fail: func(s *v1alpha1.Superset) {
				s.Spec.Lifecycle.Image = &v1alpha1.ImageOverrideSpec{Repository: new("missing/superset")}
			},
			fix:  func(s *v1alpha1.Superset) { s.Spec.Lifecycle.Image = nil },
			want: []string{"ImagePullBackOff", "superset"}, degraded: "ImagePull",
		},
		"a Secret without the key": {
			fail: tasks(map[string]string{
				controlplane.FailAnnotation:    controlplane.FailContainerConfig,
				controlplane.MessageAnnotation: `couldn't find key secret-key in Secret lab/lab`,
			}),
			fix: func(s *v1alpha1.Superset) {
				tasks(nil)(s)
				s.Spec.Lifecycle.PodTemplate.TerminationGracePeriodSeconds = new(int64(5))
			},
			want: []string{"CreateContainerConfigError", "couldn't find key secret-key in Secret lab/lab"}, degraded: "ConfigError",
		},
		"no matching node": {
			fail: func(s *v1alpha1.Superset) {
				s.Spec.Lifecycle.PodTemplate = &v1alpha1.PodTemplate{NodeSelector: map[string]string{"disk": "none-like-this"}}
			},
			fix:  func(s *v1alpha1.Superset) { s.Spec.Lifecycle.PodTemplate = nil },
			want: []string{"unschedulable", "nodes are available"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.create(minimal(tc.fail)(l.env))
			l.waitFor(sup, all(condition("LifecycleComplete", metav1.ConditionFalse, "TaskCannotStart"), task("migrate", v1alpha1.TaskRunning, 1)))
			for _, part := range tc.want {
				if text := message(sup, "LifecycleComplete"); !strings.Contains(text, part) {
					t.Errorf("%q is not in the condition: %s", part, text)
				}
				if text := sup.Status.Lifecycle.Migrate.Message; !strings.Contains(text, part) {
					t.Errorf("%q is not in the task's message: %s", part, text)
				}
			}
			if tc.degraded != "" {
				l.waitFor(sup, condition("Degraded", metav1.ConditionTrue, tc.degraded))
			}
			l.waitEvents(map[string]int{"Warning TaskCannotStart": 1})
			l.edit(sup, tc.fix)
			l.waitFor(sup, all(settled, task("migrate", v1alpha1.TaskComplete, 1)))
			l.history.checkTasks("migrate")
			l.waitEvents(map[string]int{"Warning TaskCannotStart": 1, "Warning TaskFailed": 0})
			if text := sup.Status.Lifecycle.Migrate.Message; text != "" {
				t.Errorf("the message of the task is still %s", text)
			}
		})
	}
}

// TestComponentStartFailureIsReported changes a running component to one that cannot start.
func TestComponentStartFailureIsReported(t *testing.T) {
	l := newParallelEnv(t, options{})
	const cause = "couldn't find key websocket in Secret lab/lab"
	sup := l.createRunning(minimal(func(s *v1alpha1.Superset) { s.Spec.CeleryWorker = &v1alpha1.CeleryWorkerSpec{} }))
	web := l.deployment("web-server")
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.CeleryWorker.PodTemplate = &v1alpha1.PodTemplate{Annotations: map[string]string{
			controlplane.FailAnnotation: controlplane.FailContainerConfig, controlplane.MessageAnnotation: cause,
		}}
	})
	l.waitFor(sup, func(s *v1alpha1.Superset) error {
		c := s.Status.Components.CeleryWorker
		if c.Phase != v1alpha1.ComponentProgressing && c.Phase != v1alpha1.ComponentUnavailable || !strings.Contains(c.Message, cause) {
			return fmt.Errorf("worker %+v", c)
		}
		if text := message(s, "Degraded"); !strings.Contains(text, "celeryWorker") {
			return fmt.Errorf("message of Degraded: %q", text)
		}
		return condition("Degraded", metav1.ConditionTrue, "ConfigError")(s)
	})
	if now := l.deployment("web-server"); now.UID != web.UID || now.Generation != web.Generation {
		t.Error("the web server was changed")
	}
	// The worker's old pod still serves: the rollout waits for the new one.
	if d := l.deployment("celery-worker"); d.Status.ReadyReplicas != 1 {
		t.Errorf("%d workers are ready", d.Status.ReadyReplicas)
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.CeleryWorker.PodTemplate = nil })
	l.waitFor(sup, settled)
}
