package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func deleteClosesTheLiveRow(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	evicted := object("Model", "two", "c", 2, nil)
	if err := s.Evict(t.Context(), evicted); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"c", "d", "d", "nobody"} { // a repeated delete, or one without a row, succeeds
		if err := s.Delete(t.Context(), typeOf("Model"), "two", name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"b", "a"}, list(t, s, "Model", "", metav1.ListOptions{}, nil)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	invalid(t, s.Delete(t.Context(), typeOf("Model"), "", "a"), "namespace")
}

func deleteCollectionFollowsSelectors(t *testing.T, open Open) {
	t.Helper()
	all := "d c b a"
	for name, tc := range map[string]struct {
		namespace string
		delete    *metav1.DeleteOptions
		list      metav1.ListOptions
		left      string
	}{
		"a label, not the whole namespace": {"one", nil, metav1.ListOptions{LabelSelector: "team=growth"}, "d c b"},
		"a field":                          {"", nil, metav1.ListOptions{FieldSelector: "spec.revision_id!=0"}, "d a"},
		"a limit takes the newest":         {"", nil, metav1.ListOptions{Limit: 3}, "a"},
		"a limit beyond what there is":     {"two", nil, metav1.ListOptions{Limit: 30}, "b a"},
		"a namespace":                      {"two", &metav1.DeleteOptions{}, metav1.ListOptions{}, "b a"},
		"all":                              {"", nil, metav1.ListOptions{}, ""},
		"nothing matches":                  {"", nil, metav1.ListOptions{LabelSelector: "team=ops"}, all},
		"a dry run":                        {"", &metav1.DeleteOptions{DryRun: []string{"All"}}, metav1.ListOptions{}, all},
		"a precondition that holds":        {"", uidIs("uid-one-a"), metav1.ListOptions{LabelSelector: "size=5"}, "d c b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			models(t, s)
			if err := s.DeleteCollection(t.Context(), typeOf("Model"), tc.namespace, tc.delete, &tc.list); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(tc.left), list(t, s, "Model", "", metav1.ListOptions{}, nil)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("nothing is deleted", func(t *testing.T) {
		s := open(t)
		models(t, s)
		version, grace := "7", int64(-1)
		collect := func(d *metav1.DeleteOptions) error {
			return s.DeleteCollection(t.Context(), typeOf("Model"), "", d, &metav1.ListOptions{})
		}
		expectError(t, "another uid", collect(uidIs("uid-one-a")), storage.ErrConflict)
		expectError(t, "another version", collect(&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}}), storage.ErrConflict)
		invalid(t, collect(&metav1.DeleteOptions{DryRun: []string{"Some"}}), "Some")
		invalid(t, collect(&metav1.DeleteOptions{DryRun: []string{"All", "All"}}), "dryRun")
		invalid(t, collect(&metav1.DeleteOptions{GracePeriodSeconds: &grace}), "gracePeriodSeconds")
		if diff := cmp.Diff(strings.Fields(all), list(t, s, "Model", "", metav1.ListOptions{}, nil)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

func uidIs(s types.UID) *metav1.DeleteOptions {
	return &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &s}}
}

// deleteCollectionUnderChange deletes, in several pages, objects that change concurrently: those
// that stop matching the selector before their page stay, and all others are closed.
func deleteCollectionUnderChange(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	const stable, changing = 300, 24
	model := func(i int, team string) *unstructured.Unstructured {
		o := object("Model", "default", fmt.Sprintf("m-%03d", i), i%60, nil)
		o.SetLabels(map[string]string{"team": team})
		return o
	}
	var group sync.WaitGroup
	for i := range stable {
		group.Go(func() {
			if err := s.Upsert(t.Context(), model(i, []string{"growth", "fraud"}[i%2]), false, nil); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range changing {
		group.Go(func() {
			if err := s.Evict(t.Context(), model(stable+i, "growth")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	var saved atomic.Int64
	var started sync.WaitGroup
	started.Add(changing)
	for i := range changing {
		group.Go(func() {
			leaveAt := 0 // never
			if i%2 == 0 {
				leaveAt = 3 + i%5
			}
			if updateRepeatedly(t, s, model(stable+i, "growth"), leaveAt, started.Done) && leaveAt > 0 {
				saved.Add(1)
			}
		})
	}
	started.Wait()
	if err := s.DeleteCollection(t.Context(), typeOf("Model"), "default", nil, &metav1.ListOptions{LabelSelector: "team=growth"}); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	if got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: "team=growth"}, nil); len(got) != 0 {
		t.Errorf("%d objects are left", len(got))
	}
	if got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: "team=saved"}, nil); int64(len(got)) != saved.Load() {
		t.Errorf("%d objects that left the selector in time are live, want all %d", len(got), saved.Load())
	}
	if got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: "team=fraud"}, nil); len(got) != stable/2 {
		t.Errorf("%d objects of another team, want %d", len(got), stable/2)
	}
}

// updateRepeatedly updates an object directly, repeatedly, until it is closed; one of the updates
// makes it leave the selector. It reports whether the object survived.
func updateRepeatedly(t *testing.T, s storage.IngesterStorage, o *unstructured.Unstructured, leaveAt int, started func()) bool {
	t.Helper()
	for n := range 200 {
		o.SetAnnotations(map[string]string{"n": fmt.Sprint(n)})
		if n == leaveAt && n > 0 {
			o.SetLabels(map[string]string{"team": "saved"})
		}
		err := s.Upsert(t.Context(), o, true, nil)
		if n == 0 {
			started()
		}
		switch {
		case errors.Is(err, storage.ErrNotFound):
			return false
		case err != nil:
			t.Error(err)
			return false
		}
	}
	return true
}
