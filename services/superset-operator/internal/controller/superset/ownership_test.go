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

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
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
// an attempt, stays unchanged, and is reported once.
func TestForeignJobIsNoAttempt(t *testing.T) {
	t.Parallel()
	for name, upgrade := range map[string]bool{"migrate": false, "preflight": true} {
		t.Run(name, func(t *testing.T) {
			l := newParallelEnv(t, options{})
			pod := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "c"}},
			}}
			meta := metav1.ObjectMeta{Namespace: l.namespace, Name: "lab-" + name, Labels: map[string]string{v1alpha1.LabelInstance: "lab"}}
			foreign := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: pod, Suspend: new(true)}}
			if err := l.client.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			sup := l.create(minimal()(l.env))
			if upgrade {
				l.waitFor(sup, settled)
				l.edit(sup, image("6.1.0"))
			}
			l.waitFor(sup, all(phase(v1alpha1.PhaseBlocked), stalled("NotOwned", metav1.ConditionTrue), func(s *v1alpha1.Superset) error {
				if text := message(s, "Degraded"); !strings.Contains(text, "job \"lab-"+name+"\"") || !strings.Contains(text, "Delete or rename") {
					return fmt.Errorf("message of Degraded: %q", text)
				}
				return nil
			}))
			l.checkBlockedOnce(sup)
			live := &batchv1.Job{}
			if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), live); err != nil || live.UID != foreign.UID || live.Generation != foreign.Generation || len(live.OwnerReferences) > 0 {
				t.Errorf("the Job was changed: %v, %v", live, err)
			}
			if err := l.client.Delete(t.Context(), foreign, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
				t.Fatal(err)
			}
			l.waitFor(sup, settled)
			if n := entryOf(sup, name).Attempts; n != 1 {
				t.Errorf("%d attempts, want 1", n)
			}
			l.checkBlockedOnce(sup)
			l.history.checkTasks("migrate")
		})
	}
}

// TestRenamedServiceAccountKeepsUsedOne renames the ServiceAccount: to a foreign one, then together with an upgrade. The
// former one stays until no Deployment names it.
func TestRenamedServiceAccountKeepsUsedOne(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal())
	former := get(l.env, "lab", &corev1.ServiceAccount{})
	foreign := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: "foreign"}}
	if err := l.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	stays := func(when string) {
		t.Helper()
		if now := get(l.env, "lab", &corev1.ServiceAccount{}); now.UID != former.UID || !now.DeletionTimestamp.IsZero() {
			t.Errorf("%s: the account was deleted", when)
		}
	}
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.ServiceAccount = &v1alpha1.ServiceAccountSpec{Name: "foreign"} })
	l.waitFor(sup, stalled("NotOwned", metav1.ConditionTrue))
	stays("foreign name")
	expect.Unwritten(t, l.client, foreign)
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.ServiceAccount.Name = "next"
		tasks(finishAfter("1h"))(s)
		image("6.1.0")(s)
	})
	l.finish("preflight")
	l.waitFor(sup, task("migrate", v1alpha1.TaskRunning, 1))
	stays("during the tasks")
	l.finish("migrate", "init")
	l.waitFor(sup, settled)
	expect.Deleted(t, l.client, former)
	next := get(l.env, "next", &corev1.ServiceAccount{})
	l.edit(sup, func(s *v1alpha1.Superset) { s.Spec.ServiceAccount = nil })
	expect.Deleted(t, l.client, next)
	if account := l.deployment("web-server").Spec.Template.Spec.ServiceAccountName; account != "lab" {
		t.Errorf("the Deployment names account %s", account)
	}
}

// TestNamedServiceAccountStays hands the ServiceAccount that the operator created over to the user, together with an upgrade:
// the spec names it, so it stays, although the drain leaves no Deployment that does.
func TestNamedServiceAccountStays(t *testing.T) {
	l := newParallelEnv(t, options{})
	sup := l.createRunning(minimal())
	before := get(l.env, "lab", &corev1.ServiceAccount{})
	l.edit(sup, func(s *v1alpha1.Superset) {
		s.Spec.ServiceAccount = &v1alpha1.ServiceAccountSpec{Create: new(false), Name: "lab"}
		image("6.1.0")(s)
	})
	l.waitFor(sup, settled)
	if now := get(l.env, "lab", &corev1.ServiceAccount{}); now.UID != before.UID || !now.DeletionTimestamp.IsZero() {
		t.Errorf("the account was deleted: %+v", now.ObjectMeta)
	}
	if account := l.deployment("web-server").Spec.Template.Spec.ServiceAccountName; account != "lab" {
		t.Errorf("the Deployment names account %s", account)
	}
}
