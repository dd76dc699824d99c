package superset_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestRejectedPreflightTouchesNoPod lets the preflight of each change fail, and reverts the change.
func TestRejectedPreflightTouchesNoPod(t *testing.T) {
	t.Parallel()
	const cause = "preflight: the metastore is MariaDB 10.11, which Superset cannot use: use PostgreSQL or MySQL"
	edits := map[string]func(*v1alpha1.Superset){
		"another image":         image("6.1.0"),
		"another metastore":     func(s *v1alpha1.Superset) { s.Spec.Metastore.Host = new("other") },
		"another broker":        func(s *v1alpha1.Superset) { s.Spec.Valkey.Host = "other" },
		"another configuration": func(s *v1alpha1.Superset) { s.Spec.Config = new("ROW_LIMIT = 1") },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			sup := l.createRunning(celery())
			original := sup.Spec.DeepCopy()
			before, pods := l.deployment("web-server"), l.pods()
			start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) { tasks(failWith("1", cause))(s); edit(s) })
			l.waitFor(sup, condition("LifecycleComplete", metav1.ConditionFalse, "TaskRetrying"))
			if text := message(sup, "LifecycleComplete"); !strings.HasSuffix(text, cause+".") {
				t.Errorf("the condition does not name the cause: %s", text)
			}
			l.checkPodsUnchanged(pods)
			if after := l.deployment("web-server"); after.Generation != before.Generation {
				t.Errorf("the web server changed: %+v", after.Spec.Template.Spec.Containers[0])
			}
			l.edit(sup, func(s *v1alpha1.Superset) { s.Spec = *original })
			l.waitFor(sup, settled)
			l.checkPodsUnchanged(pods)
			l.history.catchUp()
			if diff := cmp.Diff([]string{"preflight"}, taskNames(l.history.tasks(start))); diff != "" {
				t.Errorf("tasks differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRejectedPreflightKeepsTheOldVersionAfterAStop stops and starts a Superset whose edit the preflight rejects. The
// components run again as they were.
func TestRejectedPreflightKeepsTheOldVersionAfterAStop(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery())
	components := []string{"web-server", "celery-worker", "celery-beat"}
	before := map[string]*appsv1.Deployment{}
	for _, name := range components {
		before[name] = l.deployment(name)
	}
	l.edit(sup, func(s *v1alpha1.Superset) {
		tasks(failWith("1", "rejected"))(s)
		s.Spec.Config = new("ROW_LIMIT = 1")
	})
	l.waitFor(sup, condition("LifecycleComplete", metav1.ConditionFalse, "TaskFailed"))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, v1alpha1.CommandStopped))
	l.waitFor(sup, phase(v1alpha1.PhaseStopped))
	l.edit(sup, annotate(v1alpha1.AnnotationCommand, ""))
	for _, name := range components {
		l.waitRolledOut(name, replicas(*before[name].Spec.Replicas))
		if diff := cmp.Diff(before[name].Spec, l.deployment(name).Spec); diff != "" {
			t.Errorf("%s differs (-before +after):\n%s", name, diff)
		}
	}
}

// TestTriggeredMigrationRetriesPreflight moves the metastore to a database that is not migrated. The preflight rejects
// it until the migration is triggered.
func TestTriggeredMigrationRetriesPreflight(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(celery())
	requiresMigrated := func() bool {
		env := get(l.env, "lab-preflight", &batchv1.Job{}).Spec.Template.Spec.Containers[0].Env
		return slices.Contains(env, corev1.EnvVar{Name: "SUPERSET_OPERATOR__MIGRATED", Value: "true"})
	}
	l.edit(sup, func(s *v1alpha1.Superset) {
		tasks(failWith("1", "preflight: the metastore is not migrated"))(s)
		s.Spec.Metastore.Host = new("other")
	})
	l.waitFor(sup, condition("LifecycleComplete", metav1.ConditionFalse, "TaskFailed"))
	if !requiresMigrated() {
		t.Error("the preflight accepts a metastore that is not migrated")
	}
	start := l.editAndGetRevision(sup, func(s *v1alpha1.Superset) {
		s.Spec.Lifecycle.Migrate = &v1alpha1.MigrateTaskSpec{BaseTaskSpec: v1alpha1.BaseTaskSpec{Trigger: "moved"}}
	})
	l.waitFor(sup, func(*v1alpha1.Superset) error {
		if len(l.history.tasks(start)) == 0 {
			return errors.New("the preflight does not run again")
		}
		return nil
	})
	if requiresMigrated() {
		t.Error("the preflight rejects a metastore that the next task migrates")
	}
}
