package purge_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jmoiron/sqlx"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/purge"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// large returns a database with 1,000 closed projects, of which every hundredth is in the namespace ours, 1,000 live ones in ours,
// and an outbox with 5,000 events of other objects, as after an outage of the bus. One event is of the first project in ours.
func large(t *testing.T, vendor mysqltest.Vendor) (*sql.DB, *registry.Kind) {
	t.Helper()
	const closed, live, events = 1000, 1000, 5000
	db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
	dbtest.Migrate(t, db)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	project, _ := kinds.Lookup("Project")
	insert := func(statement string, n int, row func(i int) string) {
		t.Helper()
		var values []string
		for i := range n {
			values = append(values, row(i))
		}
		if _, err := db.ExecContext(t.Context(), statement+" VALUES "+strings.Join(values, ", ")); err != nil {
			t.Fatal(err)
		}
	}
	insert("INSERT INTO project (uid, namespace, name, group_ver, res_version, create_time, update_time, delete_time, proto, json)", closed+live, func(i int) string {
		if i >= closed {
			return fmt.Sprintf("('p-%04d', 'ours', 'p-%d', 'v', 7, '2026-01-01', '2026-01-01', NULL, '', '{}')", i, i)
		}
		namespace := "theirs"
		if i%100 == 0 {
			namespace = "ours"
		}
		return fmt.Sprintf("('p-%04d', '%s', 'p-%d', 'v', 7, '2026-01-01', '2026-01-01', '2026-01-01 00:00:%02d', '', '{}')", i, namespace, i, i/20)
	})
	insert("INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at)", events, func(i int) string {
		uid := fmt.Sprintf("m-%d", i)
		if i == 0 {
			uid = "p-0000"
		}
		return "('model', 'theirs', 'm', '" + uid + "', 1, 7, 'updated', '2026-01-01')"
	})
	if _, err := db.ExecContext(t.Context(), "ANALYZE TABLE project, outbox"); err != nil {
		t.Fatal(err)
	}
	return db, project
}

func TestPurgeReadsOutboxByIndex(t *testing.T) {
	var uids []string // of one batch
	for i := range 500 {
		uids = append(uids, fmt.Sprintf("p-%04d", i))
	}
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db, project := large(t, vendor)
			query, args, err := sqlx.In("EXPLAIN FORMAT=TRADITIONAL "+purge.WithEvents, uids)
			if err != nil {
				t.Fatal(err)
			}
			var plan struct {
				Type string
				Key  sql.NullString
			}
			if err := sqlx.GetContext(t.Context(), sqlx.NewDb(db, "mysql").Unsafe(), &plan, query, args...); err != nil {
				t.Fatal(err)
			}
			if plan.Type != "range" || plan.Key.String != "idx_uid" {
				t.Errorf("the plan has type %q and key %q, want range and idx_uid", plan.Type, plan.Key.String)
			}
			counts, err := purge.Delete(t.Context(), db, purge.Request{Kind: project, Before: now})
			if diff := cmp.Diff(purge.Counts{Kind: "Project", Rows: 999, Waiting: 1}, counts); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestPurgeOfNamespacesBoundsRowsOfStatement purges few rows among those of other namespaces. A single statement would read
// all of them, and exceed the read timeout on a large table.
func TestPurgeOfNamespacesBoundsRowsOfStatement(t *testing.T) {
	const batch = 20
	db, project := large(t, mysqltest.MySQL) // MariaDB does not count the rows of statements by default
	request := purge.Request{Kind: project, Before: now, Namespaces: []string{"ours"}, Batch: batch}
	want := purge.Counts{Kind: "Project", Rows: 9, Waiting: 1}
	statements := dbtest.CountExamined(t, db, "project")
	counts, err := purge.Count(t.Context(), db, request)
	if diff := cmp.Diff(want, counts); diff != "" || err != nil {
		t.Errorf("dry run: error %v (-want +got):\n%s", err, diff)
	}
	counts, err = purge.Delete(t.Context(), db, request)
	if diff := cmp.Diff(want, counts); diff != "" || err != nil {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
	if n, examined := statements(); n == 0 || examined > 2*batch {
		t.Errorf("%d statements examined up to %d rows on average, want at most %d", n, examined, 2*batch)
	}
}
