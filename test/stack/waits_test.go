package stack_test

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
)

// waiters is the number of Supersets whose specs change at the same time.
const waiters = 5

// awaited lists the conditions to wait for in turn, and whether the rollout must be complete when the wait ends.
var awaited = []struct {
	condition string
	rolledOut bool
}{
	{"Available=True", false},
	{"Progressing=False", true},
	{"Degraded=False", false},
	{"Ready=True", false},
	{"Upgradable=True", true},
}

// waitNeverEndsEarly makes specChanges changes. When kubectl wait returns after a change, the condition must be true for the
// changed spec.
func (s *suite) waitNeverEndsEarly(t *testing.T, specChanges int) {
	t.Helper()
	tools, err := controlplane.Find()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	failures := make([]error, waiters)
	for w := range waiters {
		name := fmt.Sprintf("waited-for-%d", w)
		s.apply(t, supersets, name, superset("4.1.1"))
		s.wait(t, supersets, name, isHealthy)
		wg.Go(func() {
			for i := 0; i < specChanges/waiters && failures[w] == nil; i++ {
				failures[w] = s.changeAndWait(t, tools.Path("kubectl"), name, fmt.Sprintf("change-%d", i), i%len(awaited))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(failures...); err != nil {
		t.Fatal(err)
	}
	for w := range waiters {
		obj := &unstructured.Unstructured{}
		obj.SetGroupVersionKind(supersets)
		obj.SetNamespace("default")
		obj.SetName(fmt.Sprintf("waited-for-%d", w))
		if err := s.Client.Delete(t.Context(), obj); err != nil {
			t.Error(err)
		}
	}
}

func (s *suite) changeAndWait(t *testing.T, kubectl, name, change string, n int) error {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(supersets)
	obj.SetNamespace("default")
	obj.SetName(name)
	patch := fmt.Sprintf(`{"spec":{"forceReload":%q}}`, change)
	if err := s.Client.Patch(t.Context(), obj, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return err
	}
	want := awaited[n]
	cmd := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", s.Env["KUBECONFIG"], "--namespace", "default",
		"wait", "--for=condition="+want.condition, "--timeout="+timeout.String(), "superset/"+name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("wait for %s of %s after %s: %w: %s", want.condition, name, change, err, out)
	}
	d := &appsv1.Deployment{}
	if err := s.Client.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name + "-web-server"}, d); err != nil {
		return err
	}
	if err := inEffect(d, change, want.rolledOut); err != nil {
		return fmt.Errorf("the wait for %s of %s ended too early: %w", want.condition, name, err)
	}
	return nil
}

// inEffect returns an error unless a Deployment has the change and its controller has observed it, and, if rolledOut, unless
// all its pods are updated and available.
func inEffect(d *appsv1.Deployment, change string, rolledOut bool) error {
	found := false
	for _, c := range d.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			found = found || e.Value == change
		}
	}
	status := d.Status
	switch {
	case !found:
		return fmt.Errorf("the Deployment does not contain %s yet", change)
	case status.ObservedGeneration < d.Generation:
		return fmt.Errorf("the Deployment has generation %d, observed %d", d.Generation, status.ObservedGeneration)
	case rolledOut && (status.UpdatedReplicas != *d.Spec.Replicas || status.AvailableReplicas != *d.Spec.Replicas || status.Replicas != *d.Spec.Replicas):
		return fmt.Errorf("want %d replicas, got %d, of which %d are updated and %d available",
			*d.Spec.Replicas, status.Replicas, status.UpdatedReplicas, status.AvailableReplicas)
	}
	return nil
}

func TestInEffectDistinguishesOldAndNew(t *testing.T) {
	one := int32(1)
	deployment := func(env string, observed, updated int64) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Generation, d.Spec.Replicas = 2, &one
		d.Spec.Template.Spec.Containers = []corev1.Container{{Env: []corev1.EnvVar{{Name: "X", Value: env}}}}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: 1, AvailableReplicas: 1, UpdatedReplicas: int32(updated)}
		return d
	}
	for name, c := range map[string]struct {
		d         *appsv1.Deployment
		rolledOut bool
		want      bool
	}{
		"new and observed":             {deployment("change", 2, 0), false, true},
		"new and rolled out":           {deployment("change", 2, 1), true, true},
		"an older change":              {deployment("before", 2, 1), false, false},
		"not observed":                 {deployment("change", 1, 1), false, false},
		"observed, not rolled out":     {deployment("change", 2, 0), true, false},
		"neither observed nor changed": {deployment("before", 1, 0), true, false},
	} {
		if err := inEffect(c.d, "change", c.rolledOut); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
