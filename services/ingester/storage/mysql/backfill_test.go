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

// TestBackfillBoundsRowsOfStatement backfills few rows among those of other namespaces and of deleted objects. A statement
// that selects them would read all others, and exceed the read timeout on a large table.
func TestBackfillBoundsRowsOfStatement(t *testing.T) {
	const page = 100
	s := openWithRows(t, mysqltest.MySQL, liveRows, 2000) // MariaDB does not count the rows of statements by default
	for name, tc := range map[string]struct {
		options storage.BackfillOptions
		want    int
	}{
		"namespaces":   {storage.BackfillOptions{NameSpaces: []string{"other", "third"}}, 1},
		"live objects": {storage.BackfillOptions{ExcludeDeleted: true}, liveRows},
	} {
		t.Run(name, func(t *testing.T) {
			options := tc.options
			options.Kind, options.Command = "Project", storage.BackfillIndex
			statements := dbtest.CountExamined(t, s.DB(), "project")
			var prepared int
			_, err := s.Backfill(t.Context(), func(o runtime.Object) (*storage.BackfillParams, error) { prepared++; return nil, nil }, options)
			if err != nil || prepared != tc.want {
				t.Errorf("%d objects prepared, want %d, error %v", prepared, tc.want, err)
			}
			if n, examined := statements(); n == 0 || examined > 2*page {
				t.Errorf("%d statements examined up to %d rows on average, want at most %d", n, examined, 2*page)
			}
		})
	}
}
