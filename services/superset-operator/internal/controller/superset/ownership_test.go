package superset_test

import (
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// TestForeignStatusWriteIsReverted checks that the operator reverts a status field that a user patched, and
// continues.
func TestForeignStatusWriteIsReverted(t *testing.T) {
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Blocked","ready":"9/9"}}`))
	if err := e.client.Status().Patch(t.Context(), sup.DeepCopy(), patch, client.FieldOwner("kubectl-patch")); err != nil {
		t.Fatal(err)
	}
	e.waitFor(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Phase != v1alpha1.PhaseRunning || s.Status.Ready == "9/9" {
			return fmt.Errorf("phase %s, ready %s", s.Status.Phase, s.Status.Ready)
		}
		return nil
	})
}

// TestForeignJobIsNoAttempt creates a Job of a user with the name and a label of a task: it does not count as
// an attempt, stays unchanged, and is reported.
func TestForeignJobIsNoAttempt(t *testing.T) {
	l := newParallelEnv(t, options{})
	pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "c"}},
	}}
	meta := metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-migrate", Labels: map[string]string{v1alpha1.LabelInstance: "lab"}}
	foreign := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: pod, Suspend: new(true)}}
	if err := l.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	sup := l.create(minimal()(l.env))
	l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), condition("Degraded", metav1.ConditionTrue, "NotOwned"),
		condition("Progressing", metav1.ConditionFalse, "NotOwned"), func(s *v1alpha1.Superset) error {
			if text := message(s, "Degraded"); !strings.Contains(text, `job "lab-migrate"`) || !strings.Contains(text, "Delete or rename") {
				return fmt.Errorf("message of Degraded: %q", text)
			}
			return nil
		}))
	live := &batchv1.Job{}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), live); err != nil || live.UID != foreign.UID || live.Generation != foreign.Generation || len(live.OwnerReferences) > 0 {
		t.Errorf("the Job was changed: %v, %v", live, err)
	}
	if err := l.client.Delete(t.Context(), foreign, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	l.waitFor(sup, settled)
	if n := sup.Status.Lifecycle.Migrate.Attempts; n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
	l.history.checkTasks("migrate")
}
