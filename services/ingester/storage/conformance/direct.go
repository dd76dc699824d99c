package conformance

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// evicted stores a Model that exists in storage only, in version 7.
func evicted(t *testing.T, s storage.IngesterStorage) *unstructured.Unstructured {
	t.Helper()
	m := object("Model", "default", "churn", 0, map[string]any{"algorithm": "xgboost"})
	m.SetResourceVersion("7")
	m.SetLabels(map[string]string{"team": "growth", "tier": "gold"})
	m.SetAnnotations(map[string]string{"note": "old"})
	if err := s.Evict(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

func read(t *testing.T, s storage.IngesterStorage) *unstructured.Unstructured {
	t.Helper()
	got := empty("Model")
	if err := s.GetByName(t.Context(), "default", "churn", got); err != nil {
		t.Fatal(err)
	}
	return got
}

func directUpdates(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := evicted(t, s)
	m.SetLabels(map[string]string{"team": "fraud", "size": "5"})
	m.SetAnnotations(nil)
	want := m.DeepCopy()
	want.SetResourceVersion("8")
	unstructured.RemoveNestedField(want.Object, "metadata", "annotations")
	// Other parts of the object are ignored: they cannot change.
	given := m.DeepCopy()
	given.Object["spec"] = map[string]any{"algorithm": "lightgbm"}
	if err := s.Upsert(t.Context(), given, true, []storage.IndexedField{{Key: "source", Value: "moved"}}); err != nil {
		t.Fatal(err)
	}
	if given.GetResourceVersion() != "8" {
		t.Errorf("the given object has version %q, want 8", given.GetResourceVersion())
	}
	if diff := cmp.Diff(want, read(t, s)); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	for selector, n := range map[string]int{"team=fraud,size=5": 1, "tier": 0, "team=growth": 0} {
		if got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: selector}, nil); len(got) != n {
			t.Errorf("%s: %v, want %d objects", selector, got, n)
		}
	}
	if got := list(t, s, "Model", "", metav1.ListOptions{FieldSelector: "source=moved,algorithm=xgboost"}, nil); len(got) != 1 {
		t.Error("the indexed columns are not those of the stored object with the given one")
	}
	// The same update again changes nothing and keeps the version.
	if err := s.Upsert(t.Context(), given, true, nil); err != nil || given.GetResourceVersion() != "8" {
		t.Errorf("the same again: version %s, error %v; want 8 and none", given.GetResourceVersion(), err)
	}
}

func directUpdatesAreRejected(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := evicted(t, s)
	change := func(edit func(o *unstructured.Unstructured)) error {
		o := m.DeepCopy()
		o.SetLabels(map[string]string{"team": "fraud"})
		edit(o)
		return s.Upsert(t.Context(), o, true, nil)
	}
	expectError(t, "an older version", change(func(o *unstructured.Unstructured) { o.SetResourceVersion("6") }), storage.ErrConflict)
	expectError(t, "a newer version", change(func(o *unstructured.Unstructured) { o.SetResourceVersion("8") }), storage.ErrConflict)
	expectError(t, "no version", change(func(o *unstructured.Unstructured) { o.SetResourceVersion("") }), storage.ErrConflict)
	expectError(t, "another uid", change(func(o *unstructured.Unstructured) { o.SetUID("another") }), storage.ErrConflict)
	expectError(t, "no such name", change(func(o *unstructured.Unstructured) { o.SetName("nobody") }), storage.ErrNotFound)
	invalid(t, change(func(o *unstructured.Unstructured) { o.SetNamespace("") }), "namespace")
	invalid(t, s.Upsert(t.Context(), m.DeepCopy(), true, []storage.IndexedField{{Key: "unicorn"}}), "unicorn")
	inCluster := object("Model", "default", "here", 0, nil)
	upsert(t, s, inCluster)
	expectError(t, "an object of the cluster", s.Upsert(t.Context(), inCluster, true, nil), storage.ErrConflict)
	if diff := cmp.Diff(m, read(t, s)); diff != "" {
		t.Errorf("a rejected update changed something (-want +got):\n%s", diff)
	}
	if err := s.Delete(t.Context(), typeOf("Model"), "default", "churn"); err != nil {
		t.Fatal(err)
	}
	expectError(t, "a closed row", change(func(*unstructured.Unstructured) {}), storage.ErrNotFound)
}

func concurrentDirectUpdatesConflict(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := evicted(t, s)
	const writers = 8
	var mu sync.Mutex
	winner, conflicts := "", 0
	var group sync.WaitGroup
	for i := range writers {
		group.Go(func() {
			o := m.DeepCopy()
			team := fmt.Sprintf("team-%d", i)
			o.SetLabels(map[string]string{"team": team})
			err := s.Upsert(t.Context(), o, true, nil)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				winner = team
			case errors.Is(err, storage.ErrConflict):
				conflicts++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got := read(t, s); conflicts != writers-1 || got.GetLabels()["team"] != winner || got.GetResourceVersion() != "8" {
		t.Errorf("%d conflicts, %v in version %s; want %d, %q and 8", conflicts, got.GetLabels(), got.GetResourceVersion(), writers-1, winner)
	}
}
