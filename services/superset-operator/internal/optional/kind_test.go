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

// names lists what the Kind's cache has of one fleet.
func (b *bed) names(reader client.Reader, fleet string) []string {
	b.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(b.definition.Kind)
	if err := reader.List(b.Context(), list, client.InNamespace(b.namespace), client.MatchingFields{"fleet": fleet}); err != nil {
		b.Fatal(err)
	}
	var out []string
	for i := range list.Items {
		out = append(out, list.Items[i].GetName())
	}
	return out
}

func (b *bed) reconciles(name string, times int) {
	b.Helper()
	expect.Eventually(b, long, func() error {
		if got := b.times(name); got < times {
			return fmt.Errorf("%s was reconciled %d times, want %d", name, got, times)
		}
		return nil
	})
}

func TestW23KindComesAndGoesWithoutARestart(t *testing.T) {
	b := newBed(t)
	b.start(all)
	b.becomes(optional.Absent)
	b.reconciles(awake, 1)
	b.silent()

	b.install("v1")
	reader := b.becomes(optional.Served)
	b.reconciles(awake, 2)
	b.boat("mine", map[string]string{"ours": "yes", "fleet": "a"})
	b.boat("other", map[string]string{"ours": "yes", "fleet": "b"})
	b.boat("foreign", map[string]string{"fleet": "a"})
	b.reconciles("mine", 1)
	b.reconciles("other", 1)
	if diff := cmp.Diff([]string{"mine"}, b.names(reader, "a")); diff != "" {
		t.Errorf("the cache has other objects (-want +got):\n%s", diff)
	}
	if b.times("foreign") > 0 {
		t.Error("a foreign object was reconciled")
	}

	b.uninstall()
	b.becomes(optional.Absent)
	b.reconciles(awake, 3)
	b.silent()

	b.install("v1")
	reader = b.becomes(optional.Served)
	b.reconciles(awake, 4)
	b.boat("again", map[string]string{"ours": "yes", "fleet": "a"})
	b.reconciles("again", 1)
	if diff := cmp.Diff([]string{"again"}, b.names(reader, "a")); diff != "" {
		t.Errorf("the cache has other objects (-want +got):\n%s", diff)
	}
}

func TestServedKindIsKnownBeforeTheFirstReconcile(t *testing.T) {
	b := newBed(t)
	b.install("v1")
	b.boat("early", map[string]string{"ours": "yes"})
	b.start(all)
	b.reconciles("early", 1)
	if b.first != optional.Served {
		t.Errorf("at the first reconcile the kind was %s", b.first)
	}
}

func TestAbsentKindIsKnownBeforeTheFirstReconcile(t *testing.T) {
	b := newBed(t)
	b.start(all)
	b.reconciles(awake, 1)
	if b.first != optional.Absent {
		t.Errorf("at the first reconcile the kind was %s", b.first)
	}
}

func TestKindInAnotherVersionIsAbsent(t *testing.T) {
	b := newBed(t)
	b.install("v1beta1")
	// Another kind is served in that version.
	raft := b.crd("v1")
	raft.SetName("rafts." + b.definition.Kind.Group)
	raft.Object["spec"].(map[string]any)["names"] = map[string]any{
		"kind": "Raft", "listKind": "RaftList", "plural": "rafts", "singular": "raft",
	}
	if err := b.client.Create(t.Context(), raft); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.client.Delete(context.Background(), raft); err != nil { // the test's own context has ended
			t.Error(err)
		}
	})
	expect.Eventually(t, long, func() error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: b.definition.Kind.Group, Version: "v1", Kind: "Raft"})
		return b.client.List(t.Context(), list)
	})
	b.start(all)
	b.becomes(optional.Absent)

	definition := b.crd("v1")
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
		t.Fatal(err)
	}
	definition.Object["spec"].(map[string]any)["versions"] = append(
		b.crd("v1").Object["spec"].(map[string]any)["versions"].([]any),
		map[string]any{
			"name": "v1beta1", "served": true, "storage": false,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		})
	if err := b.client.Update(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	b.becomes(optional.Served)
}

// While a definition goes, the API server takes no new objects, and the old ones may linger.
func TestKindWhoseDefinitionIsGoingIsAbsent(t *testing.T) {
	b := newBed(t)
	b.install("v1")
	boat := b.boat("lingers", map[string]string{"ours": "yes"})
	boat.SetFinalizers([]string{"test.flotilla.dev/lingers"})
	if err := b.client.Update(t.Context(), boat); err != nil {
		t.Fatal(err)
	}
	b.start(all)
	b.becomes(optional.Served)
	if err := b.client.Delete(t.Context(), b.crd("v1")); err != nil {
		t.Fatal(err)
	}
	b.becomes(optional.Absent)
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(boat), boat); err != nil {
		t.Fatalf("the kind should be served still: %v", err)
	}
	release := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := b.client.Patch(t.Context(), boat, release); err != nil {
		t.Fatal(err)
	}
	expect.Gone(t, b.client, b.crd("v1"))
}

// An operator that is confined to namespaces has no role in the cluster.
func TestOperatorThatMayNotSeeDefinitionsFindsOutAllTheSame(t *testing.T) {
	b := newBed(t)
	b.start(rights{objects: true})
	b.becomes(optional.Absent)
	b.install("v1")
	b.becomes(optional.Served)
	b.boat("mine", map[string]string{"ours": "yes"})
	b.reconciles("mine", 1)
	b.uninstall()
	b.becomes(optional.Absent)
}

func TestKindThatMayNotBeReadKeepsNobodyWaiting(t *testing.T) {
	b := newBed(t)
	b.install("v1")
	b.boat("mine", map[string]string{"ours": "yes"})
	b.start(rights{definition: true})
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	if err := b.kind.WaitForSync(ctx); err != nil || ctx.Err() != nil {
		t.Fatalf("the controller waits for a kind that it may not read: %v, %v", err, ctx.Err())
	}
	b.becomes(optional.Unknown)
	b.grant(b.user(), rights{objects: true})
	b.becomes(optional.Served)
	b.reconciles("mine", 1)
}

func TestWithoutAKindNothingIsKnown(t *testing.T) {
	var none *optional.Kind
	if state, reader := none.Look(); state != optional.Unknown || reader != nil {
		t.Errorf("state %s, reader %v", state, reader)
	}
}

func TestGoneTellsAMissingKindFromOtherErrors(t *testing.T) {
	boats := schema.GroupResource{Group: "g", Resource: "boats"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"never heard of":      {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "g", Kind: "Boat"}}, true},
		"no such path":        {fmt.Errorf("apply: %w", apierrors.NewNotFound(boats, "x")), true},
		"definition is going": {apierrors.NewMethodNotSupported(boats, "create"), true},
		"forbidden":           {apierrors.NewForbidden(boats, "x", errors.New("no")), false},
		"invalid":             {apierrors.NewBadRequest("no"), false},
		"none":                {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := optional.Gone(tc.err); got != tc.want {
				t.Errorf("Gone(%v) = %v", tc.err, got)
			}
		})
	}
}
