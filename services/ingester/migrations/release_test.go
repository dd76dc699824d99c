package migrations_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

var recordAs = flag.String("record", "", "name of the release whose statements are written to testdata/release")

// TestPreviousReleaseWorksOnSchema runs the recorded statements of earlier releases
// on the current schema: on a new database and on an adopted one. The first of the
// releases is the upstream ingester.
//
// Before a release: go test ./migrations -run TestRecordedStatements -record v1.2.3.
func TestPreviousReleaseWorksOnSchema(t *testing.T) {
	files, err := filepath.Glob("testdata/release/*.sql")
	if err != nil || len(files) < 2 {
		t.Fatalf("found %d releases, want at least 2: %v", len(files), err)
	}
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			release := strings.TrimSuffix(filepath.Base(file), ".sql")
			t.Run(release+" on a fresh database", func(t *testing.T) {
				db := open(t, mysqltest.DSNOf(t, vendor))
				up(t, db)
				replay(t, db, string(raw))
			})
			t.Run(release+" on an adopted one", func(t *testing.T) {
				db := openLegacy(t, vendor)
				up(t, db)
				replay(t, db, string(raw))
			})
		}
	})
}

// replay runs a recording on one connection, and compares how many rows were affected.
func replay(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i, part := range strings.Split(strings.TrimSuffix(text, ";\n"), ";\n-- ") {
		want, statement, ok := strings.Cut(strings.TrimPrefix(part, "-- "), "\n")
		if !ok {
			t.Fatalf("statement %d has no line with its expected result: %s", i, part)
		}
		if want == "asked" {
			ask(t, conn, statement)
			continue
		}
		result, err := conn.ExecContext(t.Context(), statement)
		if err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		affected, err := result.RowsAffected()
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint("affected ", affected); got != want {
			t.Errorf("%s, want %s: %s", got, want, statement)
		}
	}
}

func ask(t *testing.T, conn *sql.Conn, query string) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer func() {
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
	}()
	for rows.Next() { // a query may fail in between
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// TestRecordedStatements records the statements of this release and runs them on another
// database: the result must be the same, or the recordings would be incomplete.
func TestRecordedStatements(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		dsn := mysqltest.DSNOf(t, vendor)
		connector := newRecording(t, dsn)
		s := store(t, connector)
		connector.start()
		callAllMethods(t, s)
		text := connector.text()
		replayed := open(t, mysqltest.DSNOf(t, vendor))
		up(t, replayed)
		replay(t, replayed, text)
		worked, again := stateOf(t, open(t, dsn)), stateOf(t, replayed)
		for _, cells := range []map[string]string{worked.Cells, again.Cells} {
			maps.DeleteFunc(cells, func(cell, _ string) bool { // from the clock of the server
				return strings.HasPrefix(cell, "outbox ") && strings.HasSuffix(cell, " committed_at")
			})
		}
		if diff := cmp.Diff(worked, again); diff != "" {
			t.Errorf("worked and replayed (-worked +replayed):\n%s", diff)
		}
		if *recordAs != "" && vendor == mysqltest.MySQL {
			if err := os.WriteFile(filepath.Join("testdata", "release", *recordAs+".sql"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// store opens a store that writes one transaction after the other, at a fixed time.
func store(t *testing.T, connector *recording) *mysql.Storage {
	t.Helper()
	s, err := mysql.Open(context.WithoutCancel(t.Context()), mysql.Options{
		Connector: connector, Log: logr.Discard(), Outbox: true,
		Clock: clocktesting.NewFakeClock(time.Date(2024, 5, 1, 12, 0, 0, 123456000, time.UTC)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := s.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// callAllMethods calls every method of a store once.
func callAllMethods(t *testing.T, s *mysql.Storage) {
	t.Helper()
	ctx := t.Context()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	blank := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "michelangelo.api/v2", "kind": "Model"}}
	}
	kind := &metav1.TypeMeta{APIVersion: "michelangelo.api/v2", Kind: "Model"}
	s.SetIncarnation(1)
	for v := range int64(2) {
		ok(s.Upsert(ctx, dbtest.Model("one", "rel-1", v+1), false, nil))
	}
	ok(s.Upsert(ctx, dbtest.Model("one", "rel-2", 3), false, nil)) // the name again: the old row is closed
	ok(s.Upsert(ctx, dbtest.Model("two", "rel-3", 4), false, nil))
	ok(s.Finish(ctx, dbtest.Model("two", "rel-3", 5)))
	ok(s.Reopen(ctx, dbtest.Model("two", "rel-3", 6)))
	ok(s.Upsert(ctx, dbtest.Model("three", "rel-4", 7), false, nil))
	ok(s.Evict(ctx, dbtest.Model("three", "rel-4", 8)))
	ok(s.GetByName(ctx, "default", "one", blank()))
	ok(s.GetByID(ctx, "rel-2", blank()))
	var page storage.ListResponse
	ok(s.List(ctx, kind, "default", &metav1.ListOptions{
		LabelSelector: "team=growth,tier!=bronze,version in (3,6,8),!none", FieldSelector: "metadata.name!=nobody", Limit: 2,
	}, nil, &page))
	ok(s.List(ctx, kind, "default", &metav1.ListOptions{Limit: 2}, nil, &page))
	ok(s.Delete(ctx, kind, "default", "one"))
	ok(s.DeleteCollection(ctx, kind, "default", &metav1.DeleteOptions{}, &metav1.ListOptions{LabelSelector: "team=growth"}))
}
