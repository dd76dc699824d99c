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

// step is one write and its expected outcome.
type step struct {
	uid     string
	version int64
	state   record.State
	want    writer.Outcome
}

func TestHistories(t *testing.T) {
	tests := map[string]struct {
		steps  []step
		rows   []string
		events []string
	}{
		"created, updated, the same again, deleted, deleted again": {
			steps: []step{
				{"a", 1, record.Live, writer.Created},
				{"a", 2, record.Live, writer.Updated},
				{"a", 2, record.Live, writer.Unchanged},
				{"a", 3, record.Closed, writer.Deleted},
				{"a", 3, record.Closed, writer.Unchanged},
				{"a", 2, record.Closed, writer.Unchanged},
			},
			rows:   []string{"a 1 3 closed algorithm-3"},
			events: []string{"a 1 created", "a 2 updated", "a 3 deleted"},
		},
		"an object that changes while others hold it back is stored to its end": {
			steps: []step{
				{"a", 3, record.Closed, writer.Deleted},
				{"a", 5, record.Closed, writer.Amended},
				{"a", 4, record.Live, writer.Stale},
			},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 3 deleted"},
		},
		"a stale version never wins": {
			steps: []step{
				{"a", 5, record.Live, writer.Created},
				{"a", 4, record.Live, writer.Stale},
				{"a", 4, record.Closed, writer.Stale},
				{"a", 4, record.Evicted, writer.Stale},
			},
			rows:   []string{"a 1 5 live algorithm-5"},
			events: []string{"a 5 created"},
		},
		"versions are numbers, not text": {
			steps:  []step{{"a", 9, record.Live, writer.Created}, {"a", 10, record.Live, writer.Updated}},
			rows:   []string{"a 1 10 live algorithm-10"},
			events: []string{"a 9 created", "a 10 updated"},
		},
		"the version that is stored already can be closed": {
			steps:  []step{{"a", 5, record.Live, writer.Created}, {"a", 5, record.Closed, writer.Deleted}, {"a", 5, record.Live, writer.Unconfirmed}},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 5 created", "a 5 deleted"},
		},
		"an object that was never stored is stored and closed at once": {
			steps:  []step{{"a", 5, record.Closed, writer.Deleted}},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 5 deleted"},
		},
		"a closed object that a cache shows stays closed": {
			steps:  []step{{"a", 5, record.Closed, writer.Deleted}, {"a", 4, record.Live, writer.Stale}, {"a", 6, record.Live, writer.Unconfirmed}},
			rows:   []string{"a 1 5 closed algorithm-5"},
			events: []string{"a 5 deleted"},
		},
		"a closed object that the API server returns is restored": {
			steps: []step{
				{"a", 5, record.Closed, writer.Deleted},
				{"a", 4, record.Confirmed, writer.Stale},
				{"a", 5, record.Confirmed, writer.Restored},
				{"a", 5, record.Confirmed, writer.Unchanged},
				{"a", 6, record.Closed, writer.Deleted},
				{"a", 7, record.Confirmed, writer.Restored},
			},
			rows:   []string{"a 1 7 live algorithm-7"},
			events: []string{"a 5 deleted", "a 5 restored", "a 6 deleted", "a 7 restored"},
		},
		"an evicted row stays live and takes newer content": {
			steps: []step{
				{"a", 5, record.Live, writer.Created},
				{"a", 5, record.Evicted, writer.Evicted},
				{"a", 5, record.Evicted, writer.Unchanged},
				{"a", 6, record.Evicted, writer.Evicted},
				{"a", 7, record.Released, writer.Evicted},
				{"a", 6, record.Released, writer.Unchanged},
			},
			rows:   []string{"a 1 7 live evicted algorithm-7"},
			events: []string{"a 5 created", "a 5 evicted", "a 6 evicted", "a 7 evicted"},
		},
		"a closed row stays closed when its object is marked": {
			steps: []step{
				{"a", 5, record.Closed, writer.Deleted},
				{"a", 6, record.Evicted, writer.Unconfirmed},
				{"a", 7, record.Released, writer.Amended},
			},
			rows:   []string{"a 1 7 closed algorithm-7"},
			events: []string{"a 5 deleted"},
		},
		"what only others hold was not evicted": {
			steps: []step{
				{"a", 5, record.Live, writer.Created},
				{"a", 6, record.Released, writer.Deleted},
				{"b", 7, record.Released, writer.Deleted},
			},
			rows:   []string{"a 1 6 closed algorithm-6", "b 1 7 closed algorithm-7"},
			events: []string{"a 5 created", "a 6 deleted", "b 7 deleted"},
		},
		"a new object of the same name closes the old one": {
			steps:  []step{{"old", 5, record.Live, writer.Created}, {"new", 9, record.Live, writer.Created}},
			rows:   []string{"new 1 9 live algorithm-9", "old 1 5 closed algorithm-5"},
			events: []string{"old 5 created", "old 5 deleted", "new 9 created"},
		},
		"an old object that is seen late does not take the name back": {
			steps:  []step{{"new", 9, record.Live, writer.Created}, {"old", 5, record.Live, writer.Superseded}},
			rows:   []string{"new 1 9 live algorithm-9", "old 1 5 closed algorithm-5"},
			events: []string{"new 9 created", "old 5 deleted"},
		},
		"a new object takes the name of an evicted one": {
			steps:  []step{{"old", 5, record.Evicted, writer.Evicted}, {"new", 9, record.Live, writer.Created}},
			rows:   []string{"new 1 9 live algorithm-9", "old 1 5 closed evicted algorithm-5"},
			events: []string{"old 5 evicted", "old 5 deleted", "new 9 created"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			db, _ := dbtest.Migrated(t)
			w := newWriter(t, db)
			for i, s := range tc.steps {
				if got := write(t, w, model(t, "m", s.uid, s.version, s.state)); got != s.want {
					t.Errorf("step %d, %s at %d: %s, want %s", i, s.uid, s.version, got, s.want)
				}
			}
			equal(t, "rows", tc.rows, rows(t, db))
			equal(t, "events", tc.events, events(t, db))
		})
	}
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
