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

const manager = "test-operator"

func configMap(namespace string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "child"}, Data: data}
}

// mustApply applies and checks the outcome.
func mustApply(t *testing.T, a *apply.Applier, want apply.Outcome, owner, desired, existing client.Object) {
	t.Helper()
	got, err := a.Object(t.Context(), owner, desired, existing)
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Fatalf("outcome is %s, want %s", got, want)
	}
}

func TestApplyCreatesSkipsAndUpdates(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)

	desired := configMap(ns, map[string]string{"a": "1", "b": "2"})
	var typedNil *corev1.ConfigMap
	if n := c.Requests(func() { mustApply(t, a, apply.Created, owner, desired, typedNil) }); n != 1 {
		t.Errorf("creating cost %d requests, want 1", n)
	}
	live := apitest.Read(t, c, configMap(ns, nil))
	if desired.UID != live.UID || desired.ResourceVersion != live.ResourceVersion {
		t.Error("desired does not carry the uid and resourceVersion of the created object")
	}
	wantOwner := []metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.GetUID(),
		Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	if diff := cmp.Diff(wantOwner, live.OwnerReferences); diff != "" {
		t.Errorf("owner references (-want +got):\n%s", diff)
	}

	next := configMap(ns, map[string]string{"a": "1", "b": "2"})
	if n := c.Requests(func() { mustApply(t, a, apply.Unchanged, owner, next, live) }); n != 0 {
		t.Errorf("an unchanged object cost %d requests, want 0", n)
	}

	mustApply(t, a, apply.Updated, owner, configMap(ns, map[string]string{"a": "1"}), live)
	live = apitest.Read(t, c, configMap(ns, nil))
	if diff := cmp.Diff(map[string]string{"a": "1"}, live.Data); diff != "" {
		t.Errorf("a key that is no longer rendered stays (-want +got):\n%s", diff)
	}
}

func TestApplyObjectMissingFromCache(t *testing.T) {
	tests := map[string]struct {
		reason  string
		prepare func(t *testing.T, c client.Client, ns string, owner client.Object)
		options []apply.Option
		want    apply.Outcome
		err     error
	}{
		"our own object is updated": {
			reason: "the cache may lag behind our own write",
			prepare: func(t *testing.T, c client.Client, ns string, owner client.Object) {
				t.Helper()
				mustApply(t, apply.New(c, manager), apply.Created, owner, configMap(ns, map[string]string{"a": "0"}), nil)
			},
			want: apply.Updated,
		},
		"a foreign object without an owner is rejected": {
			reason: "the garbage collector would delete a user's object with ours",
			prepare: func(t *testing.T, c client.Client, ns string, _ client.Object) {
				t.Helper()
				apitest.Create(t, c, configMap(ns, map[string]string{"user": "data"}))
			},
			want: apply.Unchanged, err: apply.ErrNotOwned,
		},
		"a foreign object without an owner is adopted on request": {
			prepare: func(t *testing.T, c client.Client, ns string, _ client.Object) {
				t.Helper()
				apitest.Create(t, c, configMap(ns, map[string]string{"user": "data"}))
			},
			options: []apply.Option{apply.WithAdoption()},
			want:    apply.Updated,
		},
		"another controller's object is rejected even with adoption": {
			prepare: func(t *testing.T, c client.Client, ns string, _ client.Object) {
				t.Helper()
				other := apitest.Owner(t, c, ns, "other")
				mustApply(t, apply.New(c, "other-operator"), apply.Created, other, configMap(ns, map[string]string{"a": "0"}), nil)
			},
			options: []apply.Option{apply.WithAdoption()},
			want:    apply.Unchanged, err: apply.ErrNotOwned,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := apitest.New(t)
			ns := apitest.Namespace(t)
			owner := apitest.Owner(t, c, ns, "owner")
			tc.prepare(t, c, ns, owner)
			before := apitest.Read(t, c, configMap(ns, nil))

			got, err := apply.New(c, manager).Object(t.Context(), owner, configMap(ns, map[string]string{"a": "1"}), nil, tc.options...)
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %s and %v, want %s and %v: %s", got, err, tc.want, tc.err, tc.reason)
			}
			after := apitest.Read(t, c, configMap(ns, nil))
			if tc.err != nil && before.ResourceVersion != after.ResourceVersion {
				t.Error("a rejected object was changed")
			}
			if tc.err == nil && after.Data["a"] != "1" {
				t.Errorf("data is %v", after.Data)
			}
		})
	}
}

func TestApplyReturnsStaleForRecreatedObject(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	tests := map[string]func(){
		"deleted": func() {},
		"re-created": func() {
			mustApply(t, a, apply.Created, owner, configMap(ns, map[string]string{"a": "1"}), nil)
		},
	}
	for name, then := range tests {
		t.Run(name, func(t *testing.T) {
			mustApply(t, a, apply.Created, owner, configMap(ns, map[string]string{"a": "0"}), nil)
			cached := apitest.Read(t, c, configMap(ns, nil))
			if err := a.Delete(t.Context(), cached); err != nil {
				t.Fatal(err)
			}
			then()
			_, err := a.Object(t.Context(), owner, configMap(ns, map[string]string{"a": "2"}), cached)
			if !errors.Is(err, apply.ErrStale) {
				t.Errorf("got %v, want %v", err, apply.ErrStale)
			}
			if err := client.IgnoreNotFound(c.Delete(t.Context(), configMap(ns, nil))); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestCreateOnlyKeepsExistingObject(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	if outcome, err := a.Object(t.Context(), owner, configMap(ns, map[string]string{"a": "0"}), nil, apply.WithCreateOnly()); err != nil || outcome != apply.Created {
		t.Fatalf("got %s, %v", outcome, err)
	}
	_, err := a.Object(t.Context(), owner, configMap(ns, map[string]string{"a": "1"}), nil, apply.WithCreateOnly())
	if !errors.Is(err, apply.ErrStale) {
		t.Errorf("got %v, want %v", err, apply.ErrStale)
	}
	if got := apitest.Read(t, c, configMap(ns, nil)); got.Data["a"] != "0" {
		t.Errorf("the object was changed: %v", got.Data)
	}
}

func TestApplySkipsTerminatingObject(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	protected := configMap(ns, nil)
	protected.Finalizers = []string{"example.com/hold"}
	mustApply(t, a, apply.Created, owner, protected, nil)
	if err := a.Delete(t.Context(), apitest.Read(t, c, configMap(ns, nil))); err != nil {
		t.Fatal(err)
	}
	cached := apitest.Read(t, c, configMap(ns, nil))
	if _, err := a.Object(t.Context(), owner, protected, cached); !errors.Is(err, apply.ErrBeingDeleted) {
		t.Errorf("got %v, want %v", err, apply.ErrBeingDeleted)
	}
	if n := c.Requests(func() {
		if err := a.Delete(t.Context(), cached); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("deleting it again cost %d requests, want 0", n)
	}
}

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

func TestApplyReportsKindNotServed(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "monitoring.example.com/v1", "kind": "ServiceMonitor"}}
	u.SetNamespace(ns)
	u.SetName("child")
	_, err := apply.New(c, manager).Object(t.Context(), owner, u, nil)
	if !apply.NotInstalled(err) {
		t.Errorf("got %v, want an error that NotInstalled recognizes", err)
	}
}

func TestApplyRejectsInvalidArguments(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	tests := map[string]struct{ owner, desired client.Object }{
		"no owner":                   {nil, configMap(ns, nil)},
		"owner that was never read":  {configMap(ns, nil), configMap(ns, nil)},
		"owner in another namespace": {owner, configMap("default", nil)},
		"no name":                    {owner, &corev1.ConfigMap{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if n := c.Requests(func() {
				if _, err := apply.New(c, manager).Object(t.Context(), tc.owner, tc.desired, nil); err == nil {
					t.Error("got no error")
				}
			}); n != 0 {
				t.Errorf("it cost %d requests, want 0", n)
			}
		})
	}
}

func TestDeleteRequiresObservedObject(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	mustApply(t, a, apply.Created, owner, configMap(ns, nil), nil)
	first := apitest.Read(t, c, configMap(ns, nil))
	for range 2 { // the second Delete finds no object
		if err := a.Delete(t.Context(), first, apply.WithPropagation(metav1.DeletePropagationForeground)); err != nil {
			t.Fatal(err)
		}
	}
	expect.Deleted(t, c, configMap(ns, nil)) // the garbage collector finishes a foreground deletion
	apitest.Create(t, c, configMap(ns, nil))
	if err := a.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	apitest.Read(t, c, configMap(ns, nil))
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
