package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/rows"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// liveRows is the number of live rows among the closed ones.
const liveRows = 20

// TestClosedRowsAreNotRead has few live rows among many closed ones of the same namespace and label, which are newer. Nothing
// deletes closed rows by default, so what a request reads must not grow with them.
func TestClosedRowsAreNotRead(t *testing.T) {
	kind := &metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: "Project"}
	list := func(namespace, labels string, limit int64) func(*testing.T, *mysql.Storage) int {
		return func(t *testing.T, s *mysql.Storage) int {
			t.Helper()
			var answer storage.ListResponse
			if err := s.List(t.Context(), kind, namespace, &metav1.ListOptions{LabelSelector: labels, Limit: limit}, nil, &answer); err != nil {
				t.Fatal(err)
			}
			return len(answer.Items)
		}
	}
	requests := map[string]struct {
		run  func(*testing.T, *mysql.Storage) int
		want int
	}{
		"list":                            {list("", "", 10), 10},
		"list of a namespace":             {list("default", "", 10), 10},
		"list of a label":                 {list("", "team=a", 10), 10},
		"list of a label in a namespace":  {list("default", "team=a", 10), 10},
		"list without a label":            {list("default", "!tier", 10), 10},
		"list of another namespace":       {list("other", "", 0), 0},
		"live rows, as a sweep does":      {eachRow(rows.Query{State: rows.InCluster}), liveRows},
		"live rows of a namespace, paged": {eachRow(rows.Query{State: rows.Open, Namespaces: []string{"default"}, Limit: 7}), liveRows},
	}
	for _, vendor := range mysqltest.Vendors() {
		few, many := openWithRows(t, vendor, liveRows, 2000), openWithRows(t, vendor, liveRows, 8000)
		for name, request := range requests {
			t.Run(string(vendor)+"/"+name, func(t *testing.T) {
				var reads []int
				for _, s := range []*mysql.Storage{few, many} {
					count, queries := dbtest.CountReads(t, s.DB()), dbtest.CountReads(t, s.Reads())
					if got := request.run(t, s); got != request.want {
						t.Errorf("%d objects, want %d", got, request.want)
					}
					reads = append(reads, count()+queries())
				}
				if reads[0] < request.want || reads[1] > reads[0]+liveRows {
					t.Errorf("%d reads with 2,000 closed rows, %d with 8,000", reads[0], reads[1])
				}
			})
		}
	}
}

// TestSweepsDoNotReadEvictedRows has few objects in the cluster among many evicted ones, which are never deleted.
func TestSweepsDoNotReadEvictedRows(t *testing.T) {
	sweep := eachRow(rows.Query{State: rows.InCluster})
	for _, vendor := range mysqltest.Vendors() {
		var reads []int
		for _, evicted := range []int{2000, 8000} {
			s := openWithRows(t, vendor, liveRows, evicted)
			if _, err := s.DB().ExecContext(t.Context(), "UPDATE project SET evict_time = delete_time, delete_time = NULL"); err != nil {
				t.Fatal(err)
			}
			count := dbtest.CountReads(t, s.DB())
			if got := sweep(t, s); got != liveRows {
				t.Errorf("%s: %d rows, want %d", vendor, got, liveRows)
			}
			reads = append(reads, count())
		}
		if reads[0] < liveRows || reads[1] > reads[0]+liveRows {
			t.Errorf("%s: %d reads with 2,000 evicted rows, %d with 8,000", vendor, reads[0], reads[1])
		}
	}
}

func eachRow(q rows.Query) func(*testing.T, *mysql.Storage) int {
	return func(t *testing.T, s *mysql.Storage) (n int) {
		t.Helper()
		kinds, err := registry.Load()
		if err != nil {
			t.Fatal(err)
		}
		project, _ := kinds.Lookup("Project")
		if err := rows.Each(t.Context(), s.DB(), project, q, func(rows.Row) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// TestPagesReadOnlyTheirRows lists the first and a later page of many live rows.
func TestPagesReadOnlyTheirRows(t *testing.T) {
	const live, limit, later = 5000, 50, 20
	kind := &metav1.TypeMeta{APIVersion: api.GroupVersion, Kind: "Project"}
	for _, vendor := range mysqltest.Vendors() {
		s := openWithRows(t, vendor, live, 0)
		for name, tc := range map[string]struct {
			namespace string
			options   metav1.ListOptions
			order     []storage.OrderBy
		}{
			"newest":                {"", metav1.ListOptions{}, nil},
			"newest of a namespace": {"default", metav1.ListOptions{}, nil},
			"oldest of a namespace": {"default", metav1.ListOptions{}, []storage.OrderBy{{Field: "create_time", Dir: storage.SortAsc}}},
			"by name":               {"default", metav1.ListOptions{}, []storage.OrderBy{{Field: "name"}}},
			"newest with a label":   {"", metav1.ListOptions{LabelSelector: "team=a"}, nil},
			"namespace and label":   {"default", metav1.ListOptions{LabelSelector: "team=a"}, nil},
		} {
			t.Run(string(vendor)+"/"+name, func(t *testing.T) {
				options := tc.options
				options.Limit = limit
				for page := range later {
					var answer storage.ListResponse
					reads := dbtest.CountReads(t, s.Reads())
					if err := s.List(t.Context(), kind, tc.namespace, &options, &storage.ListOptionsExt{OrderBy: tc.order}, &answer); err != nil || len(answer.Items) != limit {
						t.Fatalf("page %d has %d objects, error %v", page, len(answer.Items), err)
					}
					// A count of the label, one of the remaining rows, the page, and what MySQL reads from the start while
					// that is a few percent of the rows.
					if n, bound := reads(), 1001+1001+8*limit+live/10; n > bound {
						t.Errorf("page %d caused %d reads, want at most %d", page, n, bound)
					}
					options.Continue = answer.Continue
				}
			})
		}
	}
}

// openWithRows returns a store with live projects, and closed ones that were created after them, the last in another namespace.
func openWithRows(t *testing.T, vendor mysqltest.Vendor, live, closed int) *mysql.Storage {
	t.Helper()
	s := openOn(t, mysqltest.DSNOf(t, vendor), mysql.Options{})
	var projects, labels []string
	for i := range live + closed {
		namespace, deleted := "default", "NULL"
		if i >= live {
			deleted = "'2026-02-01'"
		}
		if closed > 0 && i == live+closed-1 {
			namespace = "other"
		}
		projects = append(projects, fmt.Sprintf("('p-%05d', '%s', 'p-%d', 'v', 7, DATE_ADD('2026-01-01', INTERVAL %d SECOND), '2026-01-01', %s, '', '%s')", i, namespace, i, i, deleted,
			`{"apiVersion": "michelangelo.api/v2", "kind": "Project"}`))
		labels = append(labels, fmt.Sprintf("('p-%05d', 'team', 'a')", i))
	}
	for _, statement := range []string{
		"INSERT INTO project (uid, namespace, name, group_ver, res_version, create_time, update_time, delete_time, proto, json) VALUES " + strings.Join(projects, ", "),
		"INSERT INTO project_labels (obj_uid, `key`, value) VALUES " + strings.Join(labels, ", "),
		"ANALYZE TABLE project, project_labels",
	} {
		if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
