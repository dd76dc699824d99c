package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

var models = &metav1.TypeMeta{APIVersion: "michelangelo.api/v2", Kind: "Model"}

// TestSlowQueriesDoNotDelayWrites has more lists that wait in the server than the store has connections.
func TestSlowQueriesDoNotDelayWrites(t *testing.T) {
	const lists, waiting, writes = 60, 8, 30
	dsn := mysqltest.DSN(t)
	s := openOn(t, dsn, mysql.Options{})
	db := dbtest.Open(t, dsn)
	unlock := lockLabels(t, db)
	var group sync.WaitGroup
	defer group.Wait()
	defer unlock()
	for range lists {
		group.Go(func() {
			var response storage.ListResponse
			if err := s.List(context.WithoutCancel(t.Context()), models, "", &metav1.ListOptions{LabelSelector: "team=growth"}, nil, &response); err != nil {
				t.Log(err) // the lock was held for longer than the timeouts
			}
		})
	}
	expect.Eventually(t, expect.Long, func() error {
		const query = "SELECT COUNT(*) >= ? FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for table%'"
		if got := dbtest.Strings(t, db, query, waiting)[0]; got != "1" {
			return errors.New("too few lists wait")
		}
		return nil
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for i := range writes {
		o := dbtest.Model("p", fmt.Sprint(i), 1)
		o.SetKind("Project")
		o.SetName(fmt.Sprintf("p-%d", i))
		delete(o.Object, "spec")
		if err := s.Upsert(ctx, o, false, nil); err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
	}
}

// TestCanceledQueriesKeepTheirConnections cancels lists that wait in the server, which continues them.
func TestCanceledQueriesKeepTheirConnections(t *testing.T) {
	const conns = 8
	dsn := mysqltest.DSN(t)
	s := openOn(t, dsn, mysql.Options{StatementTimeout: time.Minute})
	db := dbtest.Open(t, dsn)
	waiting := func() string {
		t.Helper()
		return dbtest.Strings(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for table%'")[0]
	}
	unlock := lockLabels(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	list := func(ctx context.Context) error {
		var response storage.ListResponse
		return s.List(ctx, models, "", &metav1.ListOptions{LabelSelector: "team=growth"}, nil, &response)
	}
	for range conns {
		group.Go(func() {
			if err := list(ctx); err != nil {
				t.Log(err)
			}
		})
	}
	expect.Eventually(t, expect.Long, func() error {
		if n := waiting(); n != fmt.Sprint(conns) {
			return fmt.Errorf("%s lists wait, want %d", n, conns)
		}
		return nil
	})
	cancel()
	more, cancelMore := context.WithTimeout(t.Context(), time.Second)
	defer cancelMore()
	if err := list(more); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another list: error %v, want DeadlineExceeded", err)
	}
	if n := waiting(); n != fmt.Sprint(conns) {
		t.Errorf("the server runs %s statements, want %d", n, conns)
	}
	unlock()
	group.Wait()
	if err := list(t.Context()); err != nil {
		t.Error(err)
	}
}

// lockLabels makes queries of labels wait until the returned function is called.
func lockLabels(t *testing.T, db *sql.DB) (unlock func()) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES model_labels WRITE"); err != nil {
		t.Fatal(err)
	}
	unlock = sync.OnceFunc(func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES")
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(unlock)
	return unlock
}

// TestPagesAreBoundedByBytes lists objects of 10 kB, one that is larger than a page among them.
func TestPagesAreBoundedByBytes(t *testing.T) {
	s := openOn(t, mysqltest.DSN(t), mysql.Options{MaxPageBytes: 35_000})
	for i := range 9 {
		o := dbtest.Model(fmt.Sprintf("m-%d", i), fmt.Sprint(i), 1)
		size := 10_000
		if i == 4 {
			size = 50_000
		}
		o.SetAnnotations(map[string]string{"note": strings.Repeat("x", size)})
		if err := s.Upsert(t.Context(), o, false, nil); err != nil {
			t.Fatal(err)
		}
	}
	byName := storage.ListOptionsExt{OrderBy: []storage.OrderBy{{Field: "name"}}}
	for name, o := range map[string]metav1.ListOptions{"with a limit": {Limit: 7}, "without a limit": {}, "by a label": {Limit: 7, LabelSelector: "team=growth"}} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for page := 0; page == 0 || o.Continue != ""; page++ {
				var response storage.ListResponse
				if err := s.List(t.Context(), models, "", &o, &byName, &response); err != nil {
					t.Fatal(err)
				}
				for _, item := range response.Items {
					got = append(got, fmt.Sprint(page, " ", item.(*unstructured.Unstructured).GetName()))
				}
				if o.Continue = response.Continue; o.Continue != "" && *response.RemainingItemCount != int64(9-len(got)) {
					t.Errorf("after %s, %d objects remain", got[len(got)-1], *response.RemainingItemCount)
				}
			}
			want := []string{"0 m-0", "0 m-1", "0 m-2", "1 m-3", "2 m-4", "3 m-5", "3 m-6", "3 m-7", "4 m-8"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("pages and objects (-want +got):\n%s", diff)
			}
		})
	}
	byName.Pagination = &storage.Pagination{Limit: 4}
	err := s.List(t.Context(), models, "", nil, &byName, &storage.ListResponse{})
	if want := "pagination: the page exceeds 35000 bytes after 3 objects"; !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("a page by offset: error %v, want one with %q", err, want)
	}
}

// TestServerStopsSlowQueries lists by a bound of a label, which reads all 100,000 values of its key.
func TestServerStopsSlowQueries(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			dsn := mysqltest.DSNOf(t, vendor)
			s := openOn(t, dsn, mysql.Options{StatementTimeout: time.Millisecond})
			digit := "(SELECT 0 n UNION ALL SELECT " + strings.Join(strings.Split("123456789", ""), " UNION ALL SELECT ") + ")"
			exec(t, dbtest.Open(t, dsn), "INSERT INTO model_labels (obj_uid, `key`, value) SELECT x.v, 'app', x.v FROM (SELECT CONCAT(a.n, b.n, c.n, d.n, e.n) v FROM "+
				digit+" a, "+digit+" b, "+digit+" c, "+digit+" d, "+digit+" e) x")
			response := storage.ListResponse{Continue: "unchanged"}
			expect.Eventually(t, expect.Long, func() error {
				err := s.List(t.Context(), models, "", &metav1.ListOptions{LabelSelector: "app>100000"}, nil, &response)
				if !errors.Is(err, storage.ErrTooSlow) {
					return fmt.Errorf("error %w, want ErrTooSlow", err)
				}
				return nil
			})
			if response.Continue != "unchanged" {
				t.Error("the error changed the response")
			}
		})
	}
}
