package mysql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/conformance"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

var model = &metav1.TypeMeta{APIVersion: "michelangelo.api/v2", Kind: "Model"}

func onBoth(t *testing.T, run func(t *testing.T, dsn string)) {
	t.Helper()
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) { run(t, mysqltest.DSNOf(t, vendor)) })
	}
}

func TestDirectChangesHaveEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		t.Helper()
		commits := 0
		s := openOn(t, dsn, mysql.Options{Outbox: true, OnCommit: func() { commits++ }})
		m := dbtest.Model("m", "a", 7)
		for _, err := range []error{
			s.Evict(t.Context(), m),
			s.Upsert(t.Context(), dbtest.Model("n", "b", 1), false, nil),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		commits = 0
		m.SetLabels(map[string]string{"team": "fraud"})
		for range 2 { // the second update changes nothing
			if err := s.Upsert(t.Context(), m, true, nil); err != nil {
				t.Fatal(err)
			}
		}
		if commits != 1 {
			t.Errorf("%d commits with events, want 1", commits)
		}
		rewrite := func(object runtime.Object) (*storage.BackfillParams, error) {
			return &storage.BackfillParams{Object: object, IndexedFields: []storage.IndexedField{{Key: "source", Value: "x"}}}, nil
		}
		if _, err := s.Backfill(t.Context(), rewrite, storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll}); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteCollection(t.Context(), model, "", nil, &metav1.ListOptions{LabelSelector: "team=fraud"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), model, "default", "n"); err != nil {
			t.Fatal(err)
		}
		want := []string{"a 7 evicted", "b 1 created", "a 8 updated", "a 8 deleted", "b 1 deleted"}
		if diff := cmp.Diff(want, dbtest.Strings(t, s.DB(), "SELECT CONCAT_WS(' ', uid, res_version, operation) FROM outbox ORDER BY id")); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestDirectUpdateKeepsColumnsConsistent(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := openOn(t, dsn, mysql.Options{})
		m := dbtest.Model("m", "a", 7)
		if err := s.Evict(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		m.SetLabels(map[string]string{"team": "fraud"})
		if err := s.Upsert(t.Context(), m, true, nil); err != nil {
			t.Fatal(err)
		}
		stored := empty()
		if err := s.GetByID(t.Context(), "a", stored); err != nil {
			t.Fatal(err)
		}
		kinds, err := registry.Load()
		if err != nil {
			t.Fatal(err)
		}
		builder, err := record.NewBuilder(kinds)
		if err != nil {
			t.Fatal(err)
		}
		want, err := builder.Build(stored, record.Evicted)
		if err != nil {
			t.Fatal(err)
		}
		var proto []byte
		var version, incarnation int64
		var evicted bool
		query := "SELECT proto, res_version, incarnation, evict_time IS NOT NULL FROM model WHERE uid = 'a'"
		if err := s.DB().QueryRowContext(t.Context(), query).Scan(&proto, &version, &incarnation, &evicted); err != nil {
			t.Fatal(err)
		}
		if string(proto) != string(want.Proto) || version != 8 || want.ResVersion != 8 || incarnation != 1 || !evicted {
			t.Errorf("version %d (content %d), incarnation %d, evicted %v, protobuf like the JSON: %v", version, want.ResVersion, incarnation, evicted, string(proto) == string(want.Proto))
		}
		if diff := cmp.Diff([]string{"fraud"}, dbtest.Strings(t, s.DB(), "SELECT value FROM model_labels WHERE obj_uid = 'a'")); diff != "" {
			t.Error(diff)
		}
	})
}

// Triggers let every write fail.
func TestBackfillOfUnchangedRowsWritesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, dsn string) {
		t.Helper()
		s := openOn(t, dsn, mysql.Options{})
		m := dbtest.Model("m", "a", 7)
		m.Object["spec"].(map[string]any)["decisionThreshold"] = 0.25
		m.Object["spec"].(map[string]any)["qualityScores"] = []any{map[string]any{"name": "auc", "value": float64(1000)}}
		for _, err := range []error{
			s.Evict(t.Context(), m), s.Upsert(t.Context(), dbtest.Model("n", "b", 1), false, nil), s.Finish(t.Context(), dbtest.Model("n", "b", 2)),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, table := range []string{"model", "model_labels", "model_annotations"} {
			for _, event := range []string{"INSERT", "UPDATE", "DELETE"} {
				trigger := "CREATE TRIGGER no_" + event + "_" + table + " BEFORE " + event + " ON " + table +
					" FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'a write'"
				if _, err := s.DB().ExecContext(t.Context(), trigger); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, command := range []string{storage.BackfillIndex, storage.BackfillBlob, storage.BackfillAll} {
			if end, err := s.Backfill(t.Context(), nil, storage.BackfillOptions{Kind: "Model", Command: command}); err != nil || end != nil {
				t.Errorf("%s: end %v, error %v; want neither", command, end, err)
			}
		}
		change := func(object runtime.Object) (*storage.BackfillParams, error) {
			object.(*unstructured.Unstructured).SetAnnotations(nil)
			return &storage.BackfillParams{Object: object}, nil
		}
		if _, err := s.Backfill(t.Context(), change, storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll}); err == nil {
			t.Error("the triggers let a write pass")
		}
	})
}

func TestDirectWritesNeedNoIncarnation(t *testing.T) {
	dsn := mysqltest.DSN(t)
	if err := openOn(t, dsn, mysql.Options{}).Evict(t.Context(), dbtest.Model("m", "a", 7)); err != nil {
		t.Fatal(err)
	}
	s, err := mysql.Open(t.Context(), mysql.Options{DSN: dsn}) // neither prepared nor started, as in an API server
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m := dbtest.Model("m", "a", 7)
	m.SetLabels(nil)
	if err := s.Upsert(t.Context(), m, true, nil); err != nil {
		t.Error(err)
	}
	if err := s.Delete(t.Context(), model, "default", "m"); err != nil {
		t.Error(err)
	}
}

func TestSchemeCreatesTypedObjects(t *testing.T) {
	scheme := runtime.NewScheme()
	gvk := model.GroupVersionKind()
	scheme.AddKnownTypeWithName(gvk, &conformance.Typed{})
	s := openOn(t, mysqltest.DSN(t), mysql.Options{Scheme: scheme})
	m := &conformance.Typed{Spec: conformance.TypedSpec{Algorithm: "xgboost"}} // without TypeMeta
	m.Namespace, m.Name, m.UID, m.ResourceVersion = "default", "m", "a", "1"
	m.CreationTimestamp = metav1.Unix(1_700_000_000, 0)
	if err := s.Upsert(t.Context(), m, false, nil); err != nil {
		t.Fatal(err)
	}
	if m.Kind != "" {
		t.Error("the caller's object was changed")
	}
	var response storage.ListResponse
	if err := s.List(t.Context(), model, "", nil, nil, &response); err != nil {
		t.Fatal(err)
	}
	got, ok := response.Items[0].(*conformance.Typed)
	if !ok || got.Spec.Algorithm != "xgboost" || got.Kind != "Model" {
		t.Errorf("listed %#v, want the typed object", response.Items[0])
	}
	read := &conformance.Typed{}
	if err := s.GetByName(t.Context(), "default", "m", read); err != nil || read.UID != "a" {
		t.Errorf("read %+v, error %v", read, err)
	}
}
