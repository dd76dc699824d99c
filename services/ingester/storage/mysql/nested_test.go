package mysql_test

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// TestTooDeeplyNestedFieldIsNamed stores objects as deep as each server accepts, and one level deeper. The nested value is
// inside the object, spec, qualityScores and its entry.
func TestTooDeeplyNestedFieldIsNamed(t *testing.T) {
	const outerLevels = 4
	for vendor, maxLevels := range map[mysqltest.Vendor]int{mysqltest.MariaDB: 31, mysqltest.MySQL: 100} {
		t.Run(string(vendor), func(t *testing.T) {
			s := openOn(t, mysqltest.DSNOf(t, vendor), mysql.Options{})
			nested := func(version int64, levels int) error {
				m := dbtest.Model("m", "a", version)
				value := any("bottom")
				for range levels - outerLevels {
					value = map[string]any{"a": value}
				}
				scores := []any{map[string]any{"name": "auc", "metadata": value}}
				if err := unstructured.SetNestedSlice(m.Object, scores, "spec", "qualityScores"); err != nil {
					t.Fatal(err)
				}
				return s.Upsert(t.Context(), m, false, nil)
			}
			if err := nested(1, maxLevels); err != nil {
				t.Fatalf("%d levels: %v", maxLevels, err)
			}
			err := nested(2, maxLevels+1)
			if !errors.Is(err, storage.ErrRejected) {
				t.Fatalf("%d levels: %v, want ErrRejected", maxLevels+1, err)
			}
			field := "spec.qualityScores[0].metadata" + strings.Repeat(".a", maxLevels+1-outerLevels)
			for _, text := range []string{"field " + field + ": ", "nested"} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not contain %q: %v", text, err)
				}
			}
		})
	}
}

// TestLongJSONKeyIsRejected stores an object whose key is one byte longer than MySQL accepts.
func TestLongJSONKeyIsRejected(t *testing.T) {
	for vendor, rejected := range map[mysqltest.Vendor]bool{mysqltest.MariaDB: false, mysqltest.MySQL: true} {
		t.Run(string(vendor), func(t *testing.T) {
			s := openOn(t, mysqltest.DSNOf(t, vendor), mysql.Options{})
			long := func(version int64, length int) error {
				m := dbtest.Model("m", "a", version)
				scores := []any{map[string]any{"name": "auc", "metadata": map[string]any{strings.Repeat("k", length): "v"}}}
				if err := unstructured.SetNestedSlice(m.Object, scores, "spec", "qualityScores"); err != nil {
					t.Fatal(err)
				}
				return s.Upsert(t.Context(), m, false, nil)
			}
			if err := long(1, 1<<16-1); err != nil {
				t.Fatalf("key of 65,535 bytes: %v", err)
			}
			if err := long(2, 1<<16); errors.Is(err, storage.ErrRejected) != rejected || err != nil && !rejected {
				t.Errorf("key of 65,536 bytes: %v, want rejected %v", err, rejected)
			}
			if err := s.Upsert(t.Context(), dbtest.Model("m", "a", 3), false, nil); err != nil {
				t.Errorf("without the key: %v", err)
			}
		})
	}
}
