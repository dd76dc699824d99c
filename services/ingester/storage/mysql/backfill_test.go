package mysql_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

func TestBackfillCountsSkippedObjects(t *testing.T) {
	s := openOn(t, mysqltest.DSN(t), mysql.Options{})
	spoil := func(o runtime.Object) (*storage.BackfillParams, error) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok {
			t.Fatalf("got a %T", o)
		}
		u.Object["spec"] = map[string]any{"surprise": 1}
		return &storage.BackfillParams{Object: u}, nil
	}
	for i, want := range []string{"backfill Model: 1 object was skipped: ", "backfill Model: 2 objects were skipped: "} {
		name := string(rune('a' + i))
		if err := s.Upsert(t.Context(), dbtest.Model(name, name, 1), false, nil); err != nil {
			t.Fatal(err)
		}
		_, err := s.Backfill(t.Context(), spoil, storage.BackfillOptions{Kind: "Model", Command: storage.BackfillAll})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
