package verify

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// withoutManagers omits managedFields: a cache may have dropped them to save memory.
func withoutManagers(u *unstructured.Unstructured) map[string]any {
	out := maps.Clone(u.Object)
	if metadata, ok := out["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		out["metadata"] = metadata
	}
	return out
}

// firstDifference returns the path of the first value that differs, or "".
// Numbers are compared by value: MySQL rewrites them.
func firstDifference(a, b any, path string) string {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			return orRoot(path)
		}
		keys := slices.Sorted(maps.Keys(x))
		for key := range y {
			if _, ok := x[key]; !ok {
				return path + "." + key
			}
		}
		for _, key := range keys {
			other, ok := y[key]
			if !ok {
				return path + "." + key
			}
			if where := firstDifference(x[key], other, path+"."+key); where != "" {
				return where
			}
		}
		return ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return orRoot(path)
		}
		for i := range x {
			if where := firstDifference(x[i], y[i], fmt.Sprintf("%s[%d]", path, i)); where != "" {
				return where
			}
		}
		return ""
	}
	if a == b || sameNumber(a, b) {
		return ""
	}
	return orRoot(path)
}

func orRoot(path string) string {
	if path == "" {
		return "."
	}
	return path
}

func sameNumber(a, b any) bool {
	x, okX := number(a)
	y, okY := number(b)
	return okX && okY && x == y
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	}
	return 0, false
}

// sameColumn compares the value of an indexed column with what MySQL has, as text.
func sameColumn(column *registry.Column, want any, have sql.NullString) bool {
	if want == nil || !have.Valid {
		return want == nil && !have.Valid
	}
	switch v := want.(type) {
	case string:
		return v == have.String
	case bool:
		return have.String == map[bool]string{true: "1", false: "0"}[v]
	case float64:
		f, err := strconv.ParseFloat(have.String, 64)
		return err == nil && f == v
	case time.Time:
		t, err := time.Parse(time.RFC3339Nano, have.String)
		return err == nil && t.Equal(v.UTC().Truncate(time.Microsecond))
	}
	return column.Type == registry.Int && fmt.Sprint(want) == have.String
}

func samePairs(want, have map[string]string) bool { return maps.Equal(want, have) }
