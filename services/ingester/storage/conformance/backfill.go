package conformance

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// recordNames returns a prepare function that records the names of objects and leaves them unchanged.
func recordNames(recorded *[]string) storage.PrepareBackfillParams {
	return func(o runtime.Object) (*storage.BackfillParams, error) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("a %T", o)
		}
		*recorded = append(*recorded, u.GetName())
		return nil, nil
	}
}

// backfillContinues backfills objects of which many share their creation time, in calls of three:
// each is prepared exactly once.
func backfillContinues(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	var want []string
	for second, count := range []int{1, 5, 1, 1, 2, 150, 1} {
		for i := range count {
			o := object("Model", []string{"one", "two"}[i%2], fmt.Sprintf("m-%d-%03d", second, i), second, nil)
			o.SetUID(uid("", o.GetName()))
			upsert(t, s, o)
			want = append(want, o.GetName())
		}
	}
	options := storage.BackfillOptions{Kind: "Model", Command: storage.BackfillIndex, BatchSize: 3}
	var got []string
	var ends []int
	for range 20 {
		end, err := s.Backfill(t.Context(), recordNames(&got), options)
		if err != nil {
			t.Fatal(err)
		}
		if end == nil {
			break
		}
		ends = append(ends, int(end.Sub(minute)/time.Second))
		options.StartTime = *end
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{2, 5, 6}, ends); diff != "" {
		t.Errorf("creation times to continue with (-want +got):\n%s", diff)
	}
	got = nil
	options = storage.BackfillOptions{Kind: "Model", Command: storage.BackfillIndex, StartTime: at(2).Time, NameSpaces: []string{"two"}}
	if end, err := s.Backfill(t.Context(), recordNames(&got), options); err != nil || end != nil {
		t.Errorf("end %v, error %v; want none: the default batch is 500", end, err)
	}
	if len(got) != 76 || strings.HasPrefix(got[0], "m-1") {
		t.Errorf("%d objects of namespace two from second 2 on, beginning with %s; want 76", len(got), got[0])
	}
	for _, o := range []storage.BackfillOptions{
		{Kind: "Unicorn", Command: "index"}, {Kind: "Model", Command: "Unicorn"}, {Kind: "Model"},
	} {
		if _, err := s.Backfill(t.Context(), nil, o); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%+v: error %v, want ErrInvalid", o, err)
		}
	}
	if _, err := s.Backfill(t.Context(), nil, storage.BackfillOptions{Kind: "Model", Command: "all", BatchSize: -1}); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("a negative batch: error %v, want ErrInvalid", err)
	}
}

// backfillRewrites changes objects in each way that a command allows.
func backfillRewrites(t *testing.T, open Open) {
	t.Helper()
	relabel := func(o runtime.Object) (*storage.BackfillParams, error) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("a %T", o)
		}
		u.SetLabels(map[string]string{"team": "fraud"})
		if err := unstructured.SetNestedField(u.Object, "lightgbm", "spec", "algorithm"); err != nil {
			return nil, err
		}
		return &storage.BackfillParams{Object: u, IndexedFields: []storage.IndexedField{{Key: "source", Value: "moved"}}}, nil
	}
	for command, want := range map[string]struct{ index, content, labels bool }{
		storage.BackfillIndex: {index: true},
		storage.BackfillBlob:  {content: true},
		storage.BackfillAll:   {true, true, true},
	} {
		t.Run(command, func(t *testing.T) {
			s := open(t)
			models(t, s)
			closed := object("Model", "one", "b", 1, nil)
			closed.SetResourceVersion("2")
			if err := s.Finish(t.Context(), closed); err != nil {
				t.Fatal(err)
			}
			count := 0
			counting := func(o runtime.Object) (*storage.BackfillParams, error) { count++; return relabel(o) }
			if _, err := s.Backfill(t.Context(), counting, storage.BackfillOptions{Kind: "Model", Command: command}); err != nil {
				t.Fatal(err)
			}
			live := 0
			countLive := func(runtime.Object) (*storage.BackfillParams, error) { live++; return nil, nil }
			if _, err := s.Backfill(t.Context(), countLive, storage.BackfillOptions{Kind: "Model", Command: command, ExcludeDeleted: true}); err != nil {
				t.Fatal(err)
			}
			if count != 4 || live != 3 {
				t.Errorf("%d rows, %d of them live; want 4 and 3", count, live)
			}
			chosen := func(o metav1.ListOptions) bool { return len(list(t, s, "Model", "", o, nil)) == 3 }
			got := empty("Model")
			if err := s.GetByName(t.Context(), "one", "a", got); err != nil {
				t.Fatal(err)
			}
			algorithm, _, err := unstructured.NestedString(got.Object, "spec", "algorithm")
			if err != nil || got.GetResourceVersion() != "1" {
				t.Errorf("version %s, error %v; want 1 and none", got.GetResourceVersion(), err)
			}
			if index := chosen(metav1.ListOptions{FieldSelector: "source=moved,algorithm=lightgbm"}); index != want.index {
				t.Errorf("indexed columns written: %v, want %v", index, want.index)
			}
			if labels := chosen(metav1.ListOptions{LabelSelector: "team=fraud,!tier"}); labels != want.labels {
				t.Errorf("labels written: %v, want %v", labels, want.labels)
			}
			if content := algorithm == "lightgbm"; content != want.content {
				t.Errorf("content written: %v, want %v", content, want.content)
			}
		})
	}
}

// backfillSkipsInvalidObjects continues after an object that cannot be stored, and stops at an error of prepare.
func backfillSkipsInvalidObjects(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	var got []string
	prepare := func(o runtime.Object) (*storage.BackfillParams, error) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("a %T", o)
		}
		got = append(got, u.GetName())
		if u.GetName() == "b" {
			u.Object["spec"] = map[string]any{"surprise": 1}
		}
		return &storage.BackfillParams{Object: u}, nil
	}
	end, err := s.Backfill(t.Context(), prepare, storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll})
	expectError(t, "a bad object", err, storage.ErrRejected)
	if err == nil || !strings.Contains(err.Error(), "one/b") || !strings.Contains(err.Error(), "spec.surprise") || end != nil {
		t.Errorf("end %v, error %v; want one that names one/b and spec.surprise", end, err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, got); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	stop := errors.New("stop")
	end, err = s.Backfill(t.Context(), func(runtime.Object) (*storage.BackfillParams, error) { return nil, stop },
		storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll, StartTime: at(2).Time})
	if expectError(t, "an error of prepare", err, stop); end == nil || !end.Equal(at(2).Time) {
		t.Errorf("continues with %v, want the creation time of the first row that was not done", end)
	}
	replace := func(runtime.Object) (*storage.BackfillParams, error) {
		return &storage.BackfillParams{Object: object("Model", "one", "other", 0, nil)}, nil
	}
	_, err = s.Backfill(t.Context(), replace, storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll})
	invalid(t, err, "other")
}

// backfillUnderChange writes a newer version of an object while a backfill processes it: the
// object is prepared again, and the newer version stays.
func backfillUnderChange(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	newer := object("Model", "one", "b", 1, map[string]any{"algorithm": "catboost"})
	newer.SetResourceVersion("2")
	var got []string
	prepare := func(o runtime.Object) (*storage.BackfillParams, error) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			return nil, fmt.Errorf("a %T", o)
		}
		got = append(got, u.GetName()+u.GetResourceVersion())
		if u.GetName() == "b" {
			if err := s.Upsert(t.Context(), newer, false, nil); err != nil {
				return nil, err
			}
		}
		u.SetLabels(map[string]string{"team": "moved"})
		return &storage.BackfillParams{Object: u}, nil
	}
	if _, err := s.Backfill(t.Context(), prepare, storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a1", "b1", "c1", "d1", "b2"}, got); diff != "" {
		t.Errorf("prepared (-want +got):\n%s", diff)
	}
	if got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: "team=moved", FieldSelector: "algorithm=catboost"}, nil); len(got) != 1 {
		t.Errorf("%v hold the newer content with the new label, want b", got)
	}
}
