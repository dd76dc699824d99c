package schema_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// onEach runs a test on each of the two servers, with a writer on a current schema.
func onEach(t *testing.T, run func(t *testing.T, db *sql.DB, write func(*unstructured.Unstructured))) {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	builder, err := record.NewBuilder(kinds)
	if err != nil {
		t.Fatal(err)
	}
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
			dbtest.Migrate(t, db)
			m, err := metrics.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			w := writer.New(context.WithoutCancel(t.Context()), writer.Config{DB: db, Clock: clock.RealClock{}, Log: logr.Discard(), Metrics: m, Incarnation: 1})
			t.Cleanup(w.Close)
			run(t, db, func(object *unstructured.Unstructured) {
				t.Helper()
				r, err := builder.Build(object, record.Live)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Write(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestTablesFitKubernetesLimits stores an object that is at every limit at once.
func TestTablesFitKubernetesLimits(t *testing.T) {
	onEach(t, func(t *testing.T, db *sql.DB, write func(*unstructured.Unstructured)) {
		t.Helper()
		const annotation, content = 256<<10 - 10, 1536 << 10
		labelKey := strings.Repeat("k", 253) + "/" + strings.Repeat("n", 63)
		labelValue := strings.Repeat("v", 63)
		m := dbtest.Model(strings.Repeat("n", 253), "wide", 1)
		m.SetNamespace(strings.Repeat("s", 63))
		m.SetLabels(map[string]string{labelKey: labelValue})
		m.SetAnnotations(map[string]string{"note": strings.Repeat("ü", annotation/2)})
		var uris []any
		for size := 0; size < content; {
			uri := fmt.Sprintf("s3://%0200d", size)
			uris = append(uris, uri)
			size += len(uri)
		}
		if err := unstructured.SetNestedSlice(m.Object, uris, "spec", "deployableArtifactUri"); err != nil {
			t.Fatal(err)
		}
		write(m)
		want := []string{fmt.Sprintf("%d %d 1 1 1 1", 253, 63)}
		got := dbtest.Strings(t, db, "SELECT CONCAT_WS(' ', CHAR_LENGTH(name), CHAR_LENGTH(namespace),"+
			" LENGTH(json) > ?, LENGTH(proto) > ?, (SELECT COUNT(*) FROM model_labels WHERE obj_uid = uid AND `key` = ? AND value = ?),"+
			" (SELECT LENGTH(value) = ? FROM model_annotations WHERE obj_uid = uid)) FROM model",
			content, content, labelKey, labelValue, annotation)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("row (-want +got):\n%s", diff)
		}
	})
}

// TestColumnsCompareCaseAndSpaces writes pairs that a case-insensitive collation treats as equal.
func TestColumnsCompareCaseAndSpaces(t *testing.T) {
	onEach(t, func(t *testing.T, db *sql.DB, write func(*unstructured.Unstructured)) {
		t.Helper()
		m := dbtest.Model("m", "case", 1)
		m.SetLabels(map[string]string{"team": "growth", "Team": "Growth", "tèam": "gröwth"})
		m.SetAnnotations(map[string]string{"note": "text", "Note": "text ", "nöte": "Text", "emoji": "🚢", "empty": ""})
		write(m)
		m.SetResourceVersion("2")
		m.SetAnnotations(map[string]string{"note": "text ", "Note": "text", "nöte": "Text", "emoji": "🚢", "empty": " "})
		write(m)
		for query, want := range map[string][]string{
			"SELECT CONCAT(`key`, '=', value, '.') FROM model_labels ORDER BY `key`":                                  {"Team=Growth.", "team=growth.", "tèam=gröwth."},
			"SELECT CONCAT(`key`, '=', value, '.') FROM model_annotations ORDER BY `key`":                             {"Note=text.", "emoji=🚢.", "empty= .", "note=text .", "nöte=Text."},
			"SELECT `key` FROM model_labels WHERE `key` = 'team'":                                                     {"team"},
			"SELECT `key` FROM model_labels WHERE value = 'Growth'":                                                   {"Team"},
			"SELECT `key` FROM model_annotations WHERE value = 'text' AND CAST(value AS BINARY) = 'text' ORDER BY id": {"Note"},
			"SELECT name FROM model WHERE name = 'M'":                                                                 nil,
		} {
			if diff := cmp.Diff(want, dbtest.Strings(t, db, query)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", query, diff)
			}
		}
	})
}
