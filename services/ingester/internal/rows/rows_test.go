package rows_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
)

func TestEachReturnsSelectedRowsInOrder(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	project, _ := kinds.Lookup("Project")
	for _, row := range [][]any{
		{"c", "one", "gamma", nil, nil},
		{"a", "one", "alpha", nil, nil},
		{"b", "two", "beta", nil, nil},
		{"d", "one", "closed", "2026-01-01", nil},
		{"e", "one", "evicted", nil, "2026-01-01"},
	} {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO project (uid, namespace, name, delete_time, evict_time, group_ver, res_version, create_time, update_time, proto, json)"+
			" VALUES (?, ?, ?, ?, ?, 'michelangelo.api/v2', 7, '2026-01-01', '2026-01-02', '', '{}')", row...); err != nil {
			t.Fatal(err)
		}
	}
	tests := map[string]struct {
		query rows.Query
		want  []string
	}{
		"all":                 {rows.Query{}, []string{"a", "b", "c", "d", "e"}},
		"in the cluster":      {rows.Query{State: rows.InCluster}, []string{"a", "b", "c"}},
		"live":                {rows.Query{State: rows.Open}, []string{"a", "b", "c", "e"}},
		"closed":              {rows.Query{State: rows.Closed}, []string{"d"}},
		"evicted":             {rows.Query{State: rows.Evicted}, []string{"e"}},
		"of a namespace":      {rows.Query{State: rows.InCluster, Namespaces: []string{"one"}}, []string{"a", "c"}},
		"of a name":           {rows.Query{Namespaces: []string{"one"}, Names: []string{"gamma", "beta"}}, []string{"c"}},
		"of some uids":        {rows.Query{UIDs: []string{"d", "b", "nobody"}}, []string{"b", "d"}},
		"behind one":          {rows.Query{After: "b"}, []string{"c", "d", "e"}},
		"in several pages":    {rows.Query{Limit: 2}, []string{"a", "b", "c", "d", "e"}},
		"evicted, in pages":   {rows.Query{State: rows.Evicted, Limit: 1}, []string{"e"}},
		"closed, in pages":    {rows.Query{State: rows.Closed, Limit: 2}, []string{"d"}},
		"live, in pages":      {rows.Query{State: rows.InCluster, Limit: 2}, []string{"a", "b", "c"}},
		"namespace, in pages": {rows.Query{State: rows.Open, Namespaces: []string{"one"}, Limit: 2}, []string{"a", "c", "e"}},
		"in pages that fill":  {rows.Query{Limit: 5}, []string{"a", "b", "c", "d", "e"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			err := rows.Each(t.Context(), db, project, tc.query, func(r rows.Row) error {
				got = append(got, r.UID)
				if r.Live() != (r.UID != "d") || r.Evicted() != (r.UID == "e") || r.ResVersion != 7 {
					t.Errorf("row %+v", r)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestEachBoundsRowsOfStatement reads the one live row among evicted ones. A single statement would read all of them, and
// exceed the read timeout on a large table.
func TestEachBoundsRowsOfStatement(t *testing.T) {
	const all, limit = 1000, 10
	db := dbtest.Open(t, mysqltest.DSNOf(t, mysqltest.MySQL)) // MariaDB does not count the rows of statements by default
	dbtest.Migrate(t, db)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	project, _ := kinds.Lookup("Project")
	var values []string
	for i := range all {
		values = append(values, fmt.Sprintf("('%04d', 'ns', 'n%d', IF(%d = %d, NULL, NOW(6)), 'v', 7, NOW(6), NOW(6), '', '{}')", i, i, i, all/2))
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO project (uid, namespace, name, evict_time, group_ver, res_version, create_time, update_time, proto, json) VALUES "+
		strings.Join(values, ", ")); err != nil {
		t.Fatal(err)
	}
	for name, query := range map[string]rows.Query{
		"state":                     {State: rows.InCluster, Limit: limit},
		"namespace":                 {State: rows.InCluster, Limit: limit, Namespaces: []string{"ns"}},
		"name":                      {Limit: limit, Names: []string{"n500"}},
		"name of a namespace":       {Limit: limit, Namespaces: []string{"ns"}, Names: []string{"n500"}},
		"state of a name":           {State: rows.InCluster, Limit: limit, Names: []string{"n500"}},
		"uid":                       {Limit: limit, UIDs: []string{"0500"}},
		"state of rows of some uid": {State: rows.InCluster, Limit: limit, UIDs: []string{"0500", "0501"}},
	} {
		t.Run(name, func(t *testing.T) {
			statements := dbtest.CountExamined(t, db, "project")
			var got []string
			if err := rows.Each(t.Context(), db, project, query, func(r rows.Row) error {
				got = append(got, r.UID)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"0500"}, got); diff != "" {
				t.Error(diff)
			}
			if n, examined := statements(); n == 0 || examined > limit {
				t.Errorf("%d statements examined up to %d rows on average, want at most %d", n, examined, limit)
			}
		})
	}
}
