package verify

import (
	"database/sql"
	"fmt"
	"maps"
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
