package optional_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/optional"
)

// names lists the objects of one fleet in the Kind's cache.
func (e *env) names(reader client.Reader, group string) []string {
	e.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(e.crd.Kind)
	if err := reader.List(e.Context(), list, client.InNamespace(e.namespace), client.MatchingFields{"fleet": group}); err != nil {
		e.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].GetName())
	}
	return out
}

func (e *env) reconciles(name string, times int) {
	e.Helper()
	expect.Eventually(e, timeout, func() error {
		if got := e.times(name); got < times {
			return fmt.Errorf("%s was reconciled %d times, want %d", name, got, times)
		}
		return nil
	})
}

func TestW23KindIsAddedAndRemovedWithoutRestart(t *testing.T) {
	e := newEnv(t)
	e.start(all)
	e.waitState(optional.Absent)
	e.reconciles(ownersRequest, 1)
	e.requestFree()

	e.install("v1")
	reader := e.waitState(optional.Served)
	e.reconciles(ownersRequest, 2)
	e.createObject("mine", map[string]string{"ours": "yes", "fleet": "a"})
	e.createObject("other", map[string]string{"ours": "yes", "fleet": "b"})
	e.createObject("foreign", map[string]string{"fleet": "a"})
	e.reconciles("mine", 1)
	e.reconciles("other", 1)
	if diff := cmp.Diff([]string{"mine"}, e.names(reader, "a")); diff != "" {
		t.Errorf("the cache has other objects (-want +got):\n%s", diff)
	}
	if e.times("foreign") > 0 {
		t.Error("a foreign object was reconciled")
	}

	e.uninstall()
	e.waitState(optional.Absent)
	e.reconciles(ownersRequest, 3)
	e.requestFree()

	e.install("v1")
	reader = e.waitState(optional.Served)
	e.reconciles(ownersRequest, 4)
	e.createObject("again", map[string]string{"ours": "yes", "fleet": "a"})
	e.reconciles("again", 1)
	if diff := cmp.Diff([]string{"again"}, e.names(reader, "a")); diff != "" {
		t.Errorf("the cache has other objects (-want +got):\n%s", diff)
	}
}

func TestServedKindIsKnownBeforeFirstReconcile(t *testing.T) {
	e := newEnv(t)
	e.install("v1")
	e.createObject("early", map[string]string{"ours": "yes"})
	e.start(all)
	e.reconciles("early", 1)
	if e.first != optional.Served {
		t.Errorf("at the first reconcile the kind was %s", e.first)
	}
}

func TestAbsentKindIsKnownBeforeFirstReconcile(t *testing.T) {
	e := newEnv(t)
	e.start(all)
	e.reconciles(ownersRequest, 1)
	if e.first != optional.Absent {
		t.Errorf("at the first reconcile the kind was %s", e.first)
	}
}

func TestKindInOtherVersionIsAbsent(t *testing.T) {
	e := newEnv(t)
	e.install("v1beta1")
	// The API server serves another kind in that version.
	other := e.manifest("v1")
	other.SetName("rafts." + e.crd.Kind.Group)
	other.Object["spec"].(map[string]any)["names"] = map[string]any{
		"kind": "Raft", "listKind": "RaftList", "plural": "rafts", "singular": "raft",
	}
	if err := e.client.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.client.Delete(context.Background(), other); err != nil { // the context of the test has ended
			t.Error(err)
		}
	})
	expect.Eventually(t, timeout, func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: e.crd.Kind.Group, Version: "v1", Kind: "Raft"})
		return e.client.List(t.Context(), list)
	})
	e.start(all)
	e.waitState(optional.Absent)

	crd := e.manifest("v1")
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(crd), crd); err != nil {
		t.Fatal(err)
	}
	crd.Object["spec"].(map[string]any)["versions"] = append(
		e.manifest("v1").Object["spec"].(map[string]any)["versions"].([]any),
		map[string]any{
			"name": "v1beta1", "served": true, "storage": false,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		})
	if err := e.client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	e.waitState(optional.Served)
}

// TestKindWithTerminatingCRDIsAbsent deletes a CRD with a finalizer: while it is terminating, the API server rejects
// new objects, and existing ones may remain.
func TestKindWithTerminatingCRDIsAbsent(t *testing.T) {
	e := newEnv(t)
	e.install("v1")
	obj := e.createObject("lingers", map[string]string{"ours": "yes"})
	obj.SetFinalizers([]string{"test.flotilla.dev/lingers"})
	if err := e.client.Update(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	e.start(all)
	e.waitState(optional.Served)
	if err := e.client.Delete(t.Context(), e.manifest("v1")); err != nil {
		t.Fatal(err)
	}
	e.waitState(optional.Absent)
	if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil {
		t.Fatalf("the kind is no longer served: %v", err)
	}
	removeFinalizers := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := e.client.Patch(t.Context(), obj, removeFinalizers); err != nil {
		t.Fatal(err)
	}
	expect.Deleted(t, e.client, e.manifest("v1"))
}

// TestKindIsDetectedWithoutPermissionForCRDs runs an operator without a ClusterRole, as one that is confined to
// namespaces.
func TestKindIsDetectedWithoutPermissionForCRDs(t *testing.T) {
	e := newEnv(t)
	e.start(permissions{objects: true})
	e.waitState(optional.Absent)
	e.install("v1")
	e.waitState(optional.Served)
	e.createObject("mine", map[string]string{"ours": "yes"})
	e.reconciles("mine", 1)
	e.uninstall()
	e.waitState(optional.Absent)
}

func TestForbiddenKindBlocksNothing(t *testing.T) {
	e := newEnv(t)
	e.install("v1")
	e.createObject("mine", map[string]string{"ours": "yes"})
	e.start(permissions{crd: true})
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	if err := e.kind.WaitForSync(ctx); err != nil || ctx.Err() != nil {
		t.Fatalf("the controller waits for a kind that it may not read: %v, %v", err, ctx.Err())
	}
	e.waitState(optional.Unknown)
	if err := e.kind.Err(); !apierrors.IsForbidden(err) {
		t.Errorf("error %v, want Forbidden", err)
	}
	e.reconciles(ownersRequest, 1)
	e.grant(e.user(), permissions{objects: true})
	e.waitState(optional.Served)
	e.reconciles("mine", 1)
}

func TestNilKindIsUnknown(t *testing.T) {
	var nilKind *optional.Kind
	if state, reader := nilKind.State(); state != optional.Unknown || reader != nil || nilKind.Err() != nil {
		t.Errorf("state %s, reader %v, error %v", state, reader, nilKind.Err())
	}
}

func TestIsNotServedDistinguishesErrors(t *testing.T) {
	resource := schema.GroupResource{Group: "g", Resource: "boats"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"unknown kind":      {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Boat"}}, true},
		"no such path":      {fmt.Errorf("apply: %w", apierrors.NewNotFound(resource, "x")), true},
		"a terminating CRD": {apierrors.NewMethodNotSupported(resource, "create"), true},
		"forbidden":         {apierrors.NewForbidden(resource, "x", errors.New("no")), false},
		"invalid":           {apierrors.NewBadRequest("no"), false},
		"none":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := optional.IsNotServed(tc.err); got != tc.want {
				t.Errorf("Gone(%v) = %v", tc.err, got)
			}
		})
	}
}
