package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// minute is the creation time of all objects of the suite.
var minute = time.Date(2026, 11, 21, 4, 42, 0, 0, time.UTC)

func at(second int) metav1.Time {
	return metav1.NewTime(minute.Add(time.Duration(second) * time.Second))
}

func uid(namespace, name string) types.UID { return types.UID("uid-" + namespace + "-" + name) }

func objectsAreStoredAndRead(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := object("Model", "default", "churn", 0, map[string]any{"algorithm": "xgboost", "kind": "MODEL_KIND_CUSTOM"})
	m.SetLabels(map[string]string{"team": "growth"})
	m.SetAnnotations(map[string]string{"note": "Grüße"})
	upsert(t, s, m, m) // the second write changes nothing
	byName, byID := empty("Model"), empty("Model")
	byName.SetLabels(map[string]string{"left": "over"})
	if err := s.GetByName(t.Context(), "default", "churn", byName); err != nil {
		t.Fatal(err)
	}
	if err := s.GetByID(t.Context(), string(m.GetUID()), byID); err != nil {
		t.Fatal(err)
	}
	for what, got := range map[string]any{"by name": byName.Object, "by id": byID.Object} {
		if diff := cmp.Diff(m.Object, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	m.SetResourceVersion("2")
	for range 2 { // a repeated Finish is not an error
		if err := s.Finish(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	expectError(t, "by name after the end", s.GetByName(t.Context(), "default", "churn", empty("Model")), storage.ErrNotFound)
	expectError(t, "by id after the end", s.GetByID(t.Context(), string(m.GetUID()), empty("Model")), storage.ErrNotFound)
}

// Typed is a Model as a program's own Go type. Its kind follows from TypeMeta.
type Typed struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              TypedSpec `json:"spec"`
}

// TypedSpec is a part of a Model's spec.
type TypedSpec struct {
	Algorithm  string      `json:"algorithm,omitempty"`
	RevisionID int32       `json:"revisionId,omitempty"`
	Owner      *TypedOwner `json:"owner,omitempty"`
}

// TypedOwner is the owner of a Model.
type TypedOwner struct {
	Name string `json:"name,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (m *Typed) DeepCopyObject() runtime.Object {
	out := *m
	out.ObjectMeta = *m.DeepCopy()
	if m.Spec.Owner != nil {
		owner := *m.Spec.Owner
		out.Spec.Owner = &owner
	}
	return &out
}

func typedObjectsAreStoredAndRead(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := &Typed{
		TypeMeta: *typeOf("Model"),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "churn", UID: "uid-typed", ResourceVersion: "7", CreationTimestamp: at(0),
			Labels: map[string]string{"team": "growth"},
		},
		Spec: TypedSpec{Algorithm: "xgboost", RevisionID: 3, Owner: &TypedOwner{Name: "ada"}},
	}
	upsert(t, s, m)
	got := &Typed{TypeMeta: *typeOf("Model"), Spec: TypedSpec{Algorithm: "left over"}}
	got.Annotations = map[string]string{"left": "over"}
	if err := s.GetByName(t.Context(), "default", "churn", got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("typed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"churn"}, list(t, s, "Model", "", metav1.ListOptions{FieldSelector: "spec.owner.name=ada,spec.revision_id=3"}, nil)); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	if err := s.Evict(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	got.Labels = map[string]string{"team": "fraud"}
	if err := s.Upsert(t.Context(), got, true, nil); err != nil {
		t.Fatal(err)
	}
	if got.ResourceVersion != "8" {
		t.Errorf("resourceVersion %q after a direct update, want 8", got.ResourceVersion)
	}
}

func errorsAreTyped(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := object("Model", "default", "churn", 0, nil)
	m.SetResourceVersion("5")
	upsert(t, s, m)
	m.SetResourceVersion("4")
	expectError(t, "an older version", s.Upsert(t.Context(), m, false, nil), storage.ErrStale)
	bad := object("Model", "default", "bad", 0, map[string]any{"surprise": true})
	err := s.Upsert(t.Context(), bad, false, nil)
	expectError(t, "an unknown field", err, storage.ErrRejected)
	if err == nil || !strings.Contains(err.Error(), "spec.surprise") {
		t.Errorf("error %v does not name the field", err)
	}
	expectError(t, "no such name", s.GetByName(t.Context(), "default", "nobody", empty("Model")), storage.ErrNotFound)
	invalid(t, s.GetByName(t.Context(), "default", "churn", empty("Unicorn")), "Unicorn")
	invalid(t, s.GetByID(t.Context(), "x", empty("Unicorn")), "Unicorn")
	invalid(t, s.Upsert(t.Context(), empty("Unicorn"), false, nil), "Unicorn")
	invalid(t, s.Upsert(t.Context(), empty("Unicorn"), true, nil), "Unicorn")
	invalid(t, s.Delete(t.Context(), typeOf("Unicorn"), "default", "churn"), "Unicorn")
	invalid(t, s.Delete(t.Context(), &metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, "default", "churn"), "apps")
	invalid(t, s.DeleteCollection(t.Context(), nil, "default", nil, nil), "kind")
	invalid(t, s.List(t.Context(), typeOf("Unicorn"), "", nil, nil, &storage.ListResponse{}), "Unicorn")
	invalid(t, s.GetByName(t.Context(), "default", "churn", nil), "nil")
	var none *Typed
	invalid(t, s.GetByName(t.Context(), "default", "churn", none), "nil")
}

func indexedFieldsOverride(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	run := object("PipelineRun", "default", "run", 0, map[string]any{"actor": map[string]any{"name": "ada"}})
	end := at(30)
	fields := []storage.IndexedField{
		{Key: "actor", Value: "grace"}, {Key: "end_time", Value: &end}, {Key: "state", Value: 5}, {Key: "revision_name", Value: (*string)(nil)},
	}
	if err := s.Upsert(t.Context(), run, false, fields); err != nil {
		t.Fatal(err)
	}
	got := list(t, s, "PipelineRun", "", metav1.ListOptions{}, criteria(
		storage.Criterion{FieldName: "actor", Operator: storage.OpEqual, MatchValue: "grace"},
		storage.Criterion{FieldName: "end_time", Operator: storage.OpEqual, MatchValue: end.Time},
		storage.Criterion{FieldName: "state", Operator: storage.OpEqual, MatchValue: "PIPELINE_RUN_STATE_FAILED"},
		storage.Criterion{FieldName: "revision_name", Operator: storage.OpIsNull},
	))
	if diff := cmp.Diff([]string{"run"}, got); diff != "" {
		t.Errorf("the given columns (-want +got):\n%s", diff)
	}
	run.SetResourceVersion("2")
	for key, value := range map[string]any{"unicorn": "x", "end_time": "yesterday", "state": "PIPELINE_RUN_STATE_LOST", "actor": strings.Repeat("x", 256)} {
		invalid(t, s.Upsert(t.Context(), run, false, []storage.IndexedField{{Key: key, Value: value}}), key)
	}
	invalid(t, s.Upsert(t.Context(), run, false, []storage.IndexedField{{Key: "actor"}, {Key: "actor"}}), "actor")
}

func closeCanBeRepeated(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	upsert(t, s, object("Model", "default", "churn", 0, nil))
	done := make(chan error)
	for range 4 {
		go func() { done <- s.Close() }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if err := s.GetByName(t.Context(), "default", "churn", empty("Model")); err == nil {
		t.Error("a closed store answers")
	}
	if err := s.Upsert(t.Context(), object("Model", "default", "late", 0, nil), false, nil); err == nil {
		t.Error("a closed store takes writes")
	}
}

// closedRowsStayClosed stores later versions of an object whose row is closed.
func closedRowsStayClosed(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := object("Model", "default", "churn", 0, nil)
	upsert(t, s, m)
	if err := s.Finish(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	live := func() error { return s.GetByName(t.Context(), "default", "churn", empty("Model")) }
	for _, version := range []string{"1", "2"} {
		m.SetResourceVersion(version)
		expectError(t, "upsert", s.Upsert(t.Context(), m, false, nil), storage.ErrUnconfirmed)
		expectError(t, "evict", s.Evict(t.Context(), m), storage.ErrUnconfirmed)
		expectError(t, "the row", live(), storage.ErrNotFound)
	}
	m.SetResourceVersion("1")
	for range 2 { // the second one changes nothing
		if err := errors.Join(s.Reopen(t.Context(), m), live()); err != nil {
			t.Fatal(err)
		}
	}
	m.SetResourceVersion("2")
	upsert(t, s, m)
	m.SetResourceVersion("1")
	expectError(t, "reopen an older version", s.Reopen(t.Context(), m), storage.ErrStale)
}
