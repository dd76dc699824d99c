package migrations_test

import (
	"context"
	"database/sql"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

// load runs the statements of files of testdata.
func load(t *testing.T, db *sql.DB, files ...string) {
	t.Helper()
	for _, statement := range statements(t, files...) {
		exec(t, db, statement)
	}
}

func statements(t *testing.T, files ...string) []string {
	t.Helper()
	var out []string
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		for statement := range strings.SplitSeq(strings.TrimSpace(string(raw)), ";\n") {
			out = append(out, strings.TrimSuffix(statement, ";"))
		}
	}
	return out
}

// openLegacy returns the database of an earlier installation.
func openLegacy(t *testing.T, vendor mysqltest.Vendor) *sql.DB {
	t.Helper()
	db := open(t, mysqltest.DSNOf(t, vendor))
	load(t, db, "earlier_schema.sql", "earlier_data.sql")
	return db
}

// wantChanges holds all changes that an adoption of earlier_data.sql makes in existing rows.
var wantChanges = map[string]string{
	"project p-old delete_time":   "now",
	"project p-old update_time":   "now",
	"triggerrun t-1 delete_time":  "now",
	"triggerrun t-1 update_time":  "now",
	"triggerrun t-2 delete_time":  "now",
	"triggerrun t-2 update_time":  "now",
	"project p-tier-gold tier":    "NULL",
	"project p-tier-empty tier":   "NULL",
	"project p-tier-large tier":   "NULL",
	"project p-tier-huge tier":    "NULL",
	"project p-null update_time":  "2024-01-01T12:30:00Z",
	"project p-null proto":        "",
	"project_labels 7 value":      "",
	"project_annotations 4 value": "",
}

// removedRows lists the rows of labels and annotations that a newer one of the same key replaces.
var removedRows = []string{"project_labels 3 ", "project_labels 5 ", "project_annotations 2 "}

var wantNotes = []string{
	"model: 2 live rows marked as evicted, since the kind is immutable",
	"pipelinerun: 1 live rows marked as evicted, since they have the annotation michelangelo/Immutable",
	`project_labels (uid project-1): duplicate row of key "tier" removed, a newer one had another value`,
	`project_annotations (uid project-1): duplicate row of key "last" removed, a newer one had another value`,
	"project default/null (uid p-null): filled what was NULL: update_time, proto, json",
	"project default/tier-empty (uid p-tier-empty): tier was no number and is NULL now",
	"project default/tier-gold (uid p-tier-gold): tier was no number and is NULL now",
	"project default/tier-huge (uid p-tier-huge): tier was no number and is NULL now",
	"project default/tier-large (uid p-tier-large): tier was no number and is NULL now",
	"project default/twice (uid p-old): closed: the row of uid p-new is newer and was live as well",
	"triggerrun default/thrice (uid t-1): closed: the row of uid t-3 is newer and was live as well",
	"triggerrun default/thrice (uid t-2): closed: the row of uid t-3 is newer and was live as well",
}

func TestAdoptionKeepsAllRows(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := openLegacy(t, vendor)
		tables := tablesOf(t, db)
		before := cells(t, db, tables...)
		report, err := migrations.Up(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if problems := verify(t, db); len(problems) != 0 {
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
		after := cells(t, db, tables...)
		checkExistingCells(t, before, after)
		checkAddedCells(t, after)
		if diff := cmp.Diff(wantNotes, report.Notes); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
		notes, err := migrations.Notes(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantNotes, notes); diff != "" {
			t.Errorf("notes that were kept (-want +got):\n%s", diff)
		}
		for cell, want := range map[string]string{"taken_over 3 was": "silver", "taken_over 7 was": "gold"} {
			if got := cells(t, db, "taken_over")[cell]; got != want {
				t.Errorf("%s is %q, want %q", cell, got, want)
			}
		}
		if applied := up(t, db); len(applied) != 0 {
			t.Errorf("the second run applied %v", applied)
		}
	})
}

// checkExistingCells compares the cells of all rows that existed before the adoption.
func checkExistingCells(t *testing.T, before, after map[string]string) {
	t.Helper()
	want, got := map[string]string{}, map[string]string{}
	for cell, value := range before {
		if slices.ContainsFunc(removedRows, func(row string) bool { return strings.HasPrefix(cell, row) }) {
			if _, ok := after[cell]; ok {
				t.Errorf("%s is still there", cell)
			}
			continue
		}
		want[cell] = value
		if value, ok := after[cell]; ok {
			got[cell] = value
		}
	}
	maps.Copy(want, wantChanges)
	json := "project p-null json" // the servers order its keys differently
	if !strings.Contains(got[json], `"creationTimestamp": "2024-01-01T12:30:00Z"`) || !strings.Contains(got[json], `"resourceVersion": "3"`) {
		t.Errorf("%s is %s", json, got[json])
	}
	delete(got, json)
	delete(want, json)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

// checkAddedCells compares the cells of the columns that the adoption adds.
func checkAddedCells(t *testing.T, after map[string]string) {
	t.Helper()
	evicted := map[string]string{}
	for cell, value := range after {
		if strings.HasSuffix(cell, " evict_time") && value != "NULL" {
			evicted[cell] = value
		}
		if strings.HasSuffix(cell, " incarnation") && value != "0" {
			t.Errorf("%s is %s, want 0", cell, value)
		}
	}
	wantEvicted := map[string]string{
		"model model-1 evict_time":         "2024-03-02T10:00:00Z",
		"model m-revision evict_time":      "2024-03-02T10:00:00Z",
		"pipelinerun r-evicted evict_time": "2024-03-02T10:00:00Z",
	}
	if diff := cmp.Diff(wantEvicted, evicted); diff != "" {
		t.Errorf("evicted (-want +got):\n%s", diff)
	}
}

func TestAdoptionOfModelTableFromDesign(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		load(t, db, "seed_model.sql")
		up(t, db)
		if problems := verify(t, db); len(problems) != 0 {
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
		got := cells(t, db, "model")
		for cell, want := range map[string]string{
			"model m-1 create_time": "2024-01-01T00:00:00.123456Z",
			"model m-1 update_time": "2024-01-02T00:00:00.654321Z",
			"model m-1 json":        `{"kind":"Model"}`,
			"model m-1 algorithm":   "xgboost",
			"model m-1 res_version": "7",
			"model m-2 namespace":   "team",
			"model m-2 name":        "two",
			"model m-2 group_ver":   "michelangelo.api/v2",
			"model m-2 create_time": "1970-01-01T00:00:00Z",
			"model m-3 namespace":   "",
			"model m-3 proto":       "",
		} {
			if strings.ReplaceAll(got[cell], ": ", ":") != strings.ReplaceAll(want, ": ", ":") {
				t.Errorf("%s is %q, want %q", cell, got[cell], want)
			}
		}
	})
}

func TestAdoptionKeepsObsoleteSchema(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := open(t, mysqltest.DSNOf(t, vendor))
		load(t, db, "obsolete.sql")
		before := cells(t, db, "pipeline_run", "deployment")
		up(t, db)
		if problems := verify(t, db); len(problems) != 0 {
			t.Errorf("verify reports:\n%s", strings.Join(problems, "\n"))
		}
		after := cells(t, db, "pipeline_run", "deployment")
		for cell, want := range before {
			if after[cell] != want {
				t.Errorf("%s is %q, want %q", cell, after[cell], want)
			}
		}
		exec(t, db, "INSERT INTO pipeline_run VALUES ('y', 'new')")
		// The columns that only the obsolete table has no longer require a value.
		exec(t, db, "INSERT INTO deployment (uid, group_ver, namespace, name, res_version, create_time, update_time, proto, json)"+
			" VALUES ('d-2', 'v2', 'default', 'two', 1, NOW(6), NOW(6), '', '{}')")
		exec(t, db, "DROP TABLE dataset") // it is still there
	})
}

// TestFirstSyncClearsAdoptedMark syncs an object that is in the cluster: its row was marked
// as evicted because it could not be distinguished from an evicted one.
func TestFirstSyncClearsAdoptedMark(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		db := openLegacy(t, vendor)
		up(t, db)
		m, err := metrics.New(nil)
		if err != nil {
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
		// The version of the row: only the incarnation differs.
		const stored = 100
		synced, err := builder.Build(dbtest.Model("model-one", "model-1", stored), record.Live)
		if err != nil {
			t.Fatal(err)
		}
		w := writer.New(context.WithoutCancel(t.Context()), writer.Config{
			DB: db, Clock: clock.RealClock{}, Log: logr.Discard(), Metrics: m, Incarnation: 1, Outbox: true,
		})
		defer w.Close()
		outcome, err := w.Write(t.Context(), synced)
		if err != nil || outcome != writer.Updated {
			t.Errorf("outcome %s, %v, want %s", outcome, err, writer.Updated)
		}
		got := cells(t, db, "model")
		for cell, want := range map[string]string{
			"model model-1 evict_time":    "NULL",
			"model model-1 delete_time":   "NULL",
			"model model-1 incarnation":   "1",
			"model m-revision evict_time": "2024-03-02T10:00:00Z", // not synced, so it stays
		} {
			if got[cell] != want {
				t.Errorf("%s is %s, want %s", cell, got[cell], want)
			}
		}
		labels := dbtest.Strings(t, db, "SELECT CONCAT(`key`, '=', value) FROM model_labels WHERE obj_uid = 'model-1' ORDER BY `key`")
		if diff := cmp.Diff([]string{"team=growth", "tier=gold", "version=100"}, labels); diff != "" {
			t.Errorf("labels (-want +got):\n%s", diff)
		}
	})
}
