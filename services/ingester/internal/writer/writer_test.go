package writer_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

func newWriter(t testing.TB, db *sql.DB, change ...func(*writer.Config)) *writer.Writer {
	t.Helper()
	m, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg := writer.Config{DB: db, Clock: clock.RealClock{}, Log: testr.NewWithInterface(t, testr.Options{Verbosity: 1}), Metrics: m, Incarnation: 1, Outbox: true}
	for _, c := range change {
		c(&cfg)
	}
	w := writer.New(context.WithoutCancel(t.Context()), cfg)
	t.Cleanup(w.Close)
	return w
}

func build(t testing.TB, object *unstructured.Unstructured, state record.State) *record.Record {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	b, err := record.NewBuilder(kinds)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Build(object, state)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func model(t testing.TB, name, uid string, version int64, state record.State) *record.Record {
	t.Helper()
	return build(t, dbtest.Model(name, uid, version), state)
}

func write(t testing.TB, w *writer.Writer, r *record.Record) writer.Outcome {
	t.Helper()
	outcome, err := w.Write(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func events(t testing.TB, db *sql.DB) []string {
	t.Helper()
	return dbtest.Strings(t, db, "SELECT CONCAT_WS(' ', uid, res_version, operation) FROM outbox ORDER BY id")
}

func rows(t testing.TB, db *sql.DB) []string {
	t.Helper()
	return dbtest.Strings(t, db, "SELECT CONCAT_WS(' ', uid, incarnation, res_version, IF(delete_time IS NULL, 'live', 'closed'),"+
		" IF(evict_time IS NULL, NULL, 'evicted'), algorithm) FROM model ORDER BY uid")
}

// TestRestoredClusterWins writes with a higher incarnation and a lower version.
func TestRestoredClusterWins(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	before := newWriter(t, db)
	after := newWriter(t, db, func(c *writer.Config) { c.Incarnation = 2 })
	equal(t, "before", writer.Created, write(t, before, model(t, "m", "a", 100, record.Live)))
	equal(t, "after", writer.Updated, write(t, after, model(t, "m", "a", 50, record.Live)))
	equal(t, "a late write of the old cluster", writer.Stale, write(t, before, model(t, "m", "a", 101, record.Live)))
	equal(t, "rows", []string{"a 2 50 live algorithm-50"}, rows(t, db))
}

func TestRowHasAllColumns(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db)
	r := model(t, "m", "a", 1, record.Live)
	write(t, w, r)
	got := dbtest.Strings(t, db, "SELECT CONCAT_WS('|', group_ver, namespace, name, create_time, owner, model_kind, revision_id,"+
		" COALESCE(model_family_name, 'NULL'), JSON_UNQUOTE(JSON_EXTRACT(json, '$.spec.algorithm')), HEX(proto) = ?) FROM model", fmt.Sprintf("%X", r.Proto))
	equal(t, "row", []string{"michelangelo.api/v2|default|m|2026-11-21 04:42:00.000000|ada|MODEL_KIND_CUSTOM|0|NULL|algorithm-1|1"}, got)
}

func TestLabelsAndAnnotationsByDifference(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db)
	object := dbtest.Model("m", "a", 1)
	object.SetLabels(map[string]string{"keep": "1", "change": "old", "drop": "x", "Case": "A"})
	object.SetAnnotations(map[string]string{"keep": "1", "empty": ""})
	write(t, w, build(t, object, record.Live))
	keep := dbtest.Strings(t, db, "SELECT id FROM model_labels WHERE `key` = 'keep'")

	object = dbtest.Model("m", "a", 2)
	object.SetLabels(map[string]string{"keep": "1", "change": "new", "add": "y", "case": "a"})
	object.SetAnnotations(nil)
	write(t, w, build(t, object, record.Live))
	equal(t, "labels", []string{"add=y", "case=a", "change=new", "keep=1"},
		dbtest.Strings(t, db, "SELECT CONCAT(`key`, '=', value) FROM model_labels WHERE obj_uid = 'a' ORDER BY `key`"))
	equal(t, "annotations", []string(nil), dbtest.Strings(t, db, "SELECT `key` FROM model_annotations"))
	equal(t, "the unchanged label is the same row", keep, dbtest.Strings(t, db, "SELECT id FROM model_labels WHERE `key` = 'keep'"))
}

func TestKubernetesLimitsFit(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db)
	object := dbtest.Model("m", "a", 1)
	prefix := fmt.Sprintf("%0253d/", 0)
	object.SetLabels(map[string]string{prefix + fmt.Sprintf("%063d", 1): fmt.Sprintf("%063d", 2)})
	object.SetAnnotations(map[string]string{prefix + fmt.Sprintf("%063d", 1): fmt.Sprintf("%0262144d", 3)})
	object.SetNamespace(fmt.Sprintf("%063d", 4))
	object.SetName(fmt.Sprintf("%0253d", 5))
	equal(t, "outcome", writer.Created, write(t, w, build(t, object, record.Live)))
}

// TestRejectedRecordFailsAlone writes one record that the server rejects among many valid ones.
func TestRejectedRecordFailsAlone(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	w := newWriter(t, db, func(c *writer.Config) { c.Slots = 1 })
	results := make(chan error, 20)
	for i := range 20 {
		r := model(t, fmt.Sprintf("m%d", i), fmt.Sprintf("u%02d", i), 1, record.Live)
		if i == 7 {
			r.JSON = "{not json"
		}
		go func() {
			_, err := w.Write(t.Context(), r)
			results <- err
		}()
	}
	failed := 0
	for range 20 {
		if err := <-results; err != nil {
			failed++
		}
	}
	equal(t, "failed writes", 1, failed)
	equal(t, "stored rows", []string{"19"}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM model"))
}
