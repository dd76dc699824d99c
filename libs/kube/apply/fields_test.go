package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestApplyAdoptsFieldsOfFormerManager(t *testing.T) {
	tests := map[string]struct {
		former  string
		options []apply.Option
	}{
		"an earlier release under the same name wrote with Update": {former: manager},
		"an earlier release under another name wrote with Update":  {former: "manager", options: []apply.Option{apply.WithFormerManagers("manager")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := apitest.New(t)
			ns := apitest.Namespace(t)
			owner := apitest.Owner(t, c, ns, "owner")
			old := deployment(ns, map[string]string{"keep": "1", "drop": "1"})
			old.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
			if err := c.Create(t.Context(), old, client.FieldOwner(tc.former)); err != nil {
				t.Fatal(err)
			}
			before := readDeployment(t, c, ns)

			a := apply.New(c, manager, tc.options...)
			mustApply(t, a, apply.Updated, owner, deployment(ns, map[string]string{"keep": "1"}), before)
			after := readDeployment(t, c, ns)
			if diff := cmp.Diff(map[string]string{"keep": "1"}, after.Spec.Template.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			for _, entry := range after.ManagedFields {
				if entry.Operation == metav1.ManagedFieldsOperationUpdate && entry.Manager == tc.former {
					t.Errorf("%q still owns fields by Update", entry.Manager)
				}
			}
			if n := c.Requests(func() {
				mustApply(t, a, apply.Unchanged, owner, deployment(ns, map[string]string{"keep": "1"}), after)
			}); n != 0 {
				t.Errorf("the next reconcile cost %d requests, want 0", n)
			}
		})
	}
}

func TestApplyAdoptsEqualObjectWithoutNewGeneration(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	old := deployment(ns, map[string]string{"a": "1"})
	old.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	if err := c.Create(t.Context(), old, client.FieldOwner("manager")); err != nil {
		t.Fatal(err)
	}
	before := readDeployment(t, c, ns)
	desired := deployment(ns, map[string]string{"a": "1"})
	mustApply(t, apply.New(c, manager, apply.WithFormerManagers("manager")), apply.Updated, owner, desired, before)
	after := apitest.Read(t, c, deployment(ns, nil))
	if before.Generation != after.Generation || desired.Generation != after.Generation {
		t.Errorf("generation went from %d to %d, desired has %d", before.Generation, after.Generation, desired.Generation)
	}
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("spec changed (-before +after):\n%s", diff)
	}
}

func TestApplyKeepsForeignFields(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	mustApply(t, a, apply.Created, owner, deployment(ns, nil), nil)

	live := readDeployment(t, c, ns)
	live.Spec.Replicas = new(int32(5)) // as an autoscaler does; we render none
	live.Spec.Template.Spec.Containers[0].Env = append(live.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: "INJECTED", Value: "x"})
	if err := c.Update(t.Context(), live, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	live = readDeployment(t, c, ns)
	mustApply(t, a, apply.Unchanged, owner, deployment(ns, nil), live)
	mustApply(t, a, apply.Updated, owner, deployment(ns, map[string]string{"new": "1"}), live)
	live = apitest.Read(t, c, deployment(ns, nil))
	if *live.Spec.Replicas != 5 || len(live.Spec.Template.Spec.Containers[0].Env) != 2 {
		t.Errorf("replicas %d and env %v, want those of other managers unchanged", *live.Spec.Replicas, live.Spec.Template.Spec.Containers[0].Env)
	}
}

func TestApplyIgnoresServerDefaults(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	desired := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"namespace": ns, "name": "child"},
			"spec": map[string]any{"containers": []any{map[string]any{
				"name": "main", "image": "busybox:1",
				"resources": map[string]any{"limits": map[string]any{"cpu": "1000m"}}, // stored as "1"
			}}},
		}}
	}
	mustApply(t, a, apply.Created, owner, desired(), nil)
	live := apitest.Read(t, c, desired())
	mustApply(t, a, apply.Unchanged, owner, desired(), live)
}

func TestApplyRepeatsOncePerProcessWithoutManagedFields(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	mustApply(t, apply.New(c, manager), apply.Created, owner, configMap(ns, map[string]string{"a": "1"}), nil)
	cached := apitest.Read(t, c, configMap(ns, nil))
	cached.ManagedFields = nil

	a := apply.New(c, manager)
	for i, want := range []int64{1, 0} {
		if n := c.Requests(func() {
			mustApply(t, a, apply.Unchanged, owner, configMap(ns, map[string]string{"a": "1"}), cached)
		}); n != want {
			t.Errorf("reconcile %d cost %d requests, want %d", i, n, want)
		}
	}
	mustApply(t, a, apply.Updated, owner, configMap(ns, nil), cached)
	if data := apitest.Read(t, c, configMap(ns, nil)).Data; len(data) != 0 {
		t.Errorf("a key that is no longer rendered stays: %v", data)
	}
}

func TestApplyComparesStringDataOfSecret(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	desired := func() *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "child"}, StringData: map[string]string{"k": "v"}}
	}
	mustApply(t, a, apply.Created, owner, desired(), nil)
	live := apitest.Read(t, c, &corev1.Secret{ObjectMeta: desired().ObjectMeta})
	mustApply(t, a, apply.Unchanged, owner, desired(), live)
	live.Data["k"] = []byte("changed")
	if err := c.Update(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	mustApply(t, a, apply.Updated, owner, desired(), live)
}

func deployment(ns string, annotations map[string]string) *appsv1.Deployment {
	labels := map[string]string{"app": "child"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "child", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "main", Image: "busybox:1", Env: []corev1.EnvVar{{Name: "A", Value: "1"}},
				}}},
			},
		},
	}
}

// readDeployment returns the Deployment once its controller writes no more changes.
func readDeployment(t *testing.T, c client.Client, ns string) *appsv1.Deployment {
	t.Helper()
	live := deployment(ns, nil)
	expect.Object(t, c, live, func(d *appsv1.Deployment) error {
		if d.Status.ObservedGeneration != d.Generation || d.Status.AvailableReplicas != *d.Spec.Replicas {
			return errors.New("the Deployment is not settled")
		}
		return nil
	})
	return live
}
