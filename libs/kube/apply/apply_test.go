package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
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

// createForeign creates the child as a user does, without an owner.
func createForeign(t *testing.T, c client.Client, ns string, _ client.Object) {
	t.Helper()
	apitest.Create(t, c, configMap(ns, map[string]string{"user": "data"}))
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
			reason:  "the garbage collector would delete a user's object with ours",
			prepare: createForeign,
			want:    apply.Unchanged, err: apply.ErrNotOwned,
		},
		"a foreign object without an owner is adopted on request": {
			prepare: createForeign,
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

// A desired object may contain fields of the existing one: a change meanwhile must not be reverted.
func TestOptimisticLockKeepsLaterChange(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	a := apply.New(c, manager)
	mustApply(t, a, apply.Created, owner, configMap(ns, map[string]string{"a": "1", "kept": "1"}), nil)
	read := apitest.Read(t, c, configMap(ns, nil))
	changed := read.DeepCopy()
	changed.Data["kept"] = "2"
	if err := c.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	desired := configMap(ns, map[string]string{"a": "2", "kept": read.Data["kept"]})
	if _, err := a.Object(t.Context(), owner, desired, read, apply.WithOptimisticLock()); !errors.Is(err, apply.ErrStale) {
		t.Errorf("error %v, want %v", err, apply.ErrStale)
	}
	desired = configMap(ns, map[string]string{"a": "2", "kept": changed.Data["kept"]})
	if outcome, err := a.Object(t.Context(), owner, desired, changed, apply.WithOptimisticLock()); err != nil || outcome != apply.Updated {
		t.Errorf("got %s, %v; want %s", outcome, err, apply.Updated)
	}
	if live := apitest.Read(t, c, configMap(ns, nil)); live.Data["a"] != "2" || live.Data["kept"] != "2" {
		t.Errorf("data %v", live.Data)
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

func TestApplyReportsKindNotServed(t *testing.T) {
	c := apitest.New(t)
	ns := apitest.Namespace(t)
	owner := apitest.Owner(t, c, ns, "owner")
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "monitoring.example.com/v1", "kind": "ServiceMonitor"}}
	u.SetNamespace(ns)
	u.SetName("child")
	_, err := apply.New(c, manager).Object(t.Context(), owner, u, nil)
	if !meta.IsNoMatchError(err) {
		t.Errorf("got %v, want a NoMatchError", err)
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
