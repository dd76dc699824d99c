package incarnation_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

func TestResolve(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name    string
		cluster incarnation.Cluster
		store   int64 // a row of this version, written with the incarnation before
		want    int64
	}{
		{name: "a first cluster", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 10}, want: 1},
		{name: "the same again", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 20}, store: 15, want: 1},
		{name: "a cluster that went back", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 14}, want: 2},
		{name: "a cluster that went back stays there", cluster: incarnation.Cluster{UID: "one", ResourceVersion: 14}, want: 2},
		{name: "another cluster", cluster: incarnation.Cluster{UID: "two", ResourceVersion: 1000}, want: 3},
		{name: "the other cluster again", cluster: incarnation.Cluster{UID: "two", ResourceVersion: 1001}, want: 3},
	}
	current := int64(0)
	for _, s := range steps {
		if s.store > 0 {
			if _, err := db.ExecContext(t.Context(), "INSERT INTO project (uid, group_ver, namespace, name, res_version, incarnation, create_time, update_time, proto, json)"+
				" VALUES ('u', 'v', 'ns', 'n', ?, ?, NOW(6), NOW(6), '', '{}')", s.store, current); err != nil {
				t.Fatal(err)
			}
		}
		got, err := incarnation.Resolve(t.Context(), db, kinds, s.cluster.UID, at(s.cluster.ResourceVersion), time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatalf("%s: %v", s.name, err)
		}
		if got != s.want {
			t.Errorf("%s: incarnation %d, want %d", s.name, got, s.want)
		}
		current = got
	}
}

// TestResolveReadsAllPages stores the newest version on each page in turn. The uids differ in case: pages must continue in
// the order of the column's collation.
func TestResolveReadsAllPages(t *testing.T) {
	const uids = "ABCDEabcde"
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			db := dbtest.Open(t, mysqltest.DSNOf(t, vendor))
			dbtest.Migrate(t, db)
			kinds, err := registry.Load()
			if err != nil {
				t.Fatal(err)
			}
			want := int64(0)
			for _, size := range []int{1, 3, len(uids), len(uids) + 1} {
				for newest := range uids {
					want++
					got, err := incarnation.ResolveInPages(size)(t.Context(), db, kinds, "one", at(100), time.Unix(0, 0))
					if err != nil || got != want {
						t.Fatalf("pages of %d rows, newest row before %d: incarnation %d, %v, want %d", size, newest, got, err, want)
					}
					for i := range uids {
						r := stored{uid: uids[i : i+1], version: 100, incarnation: got}
						switch i {
						case (newest + 1) % len(uids):
							r.version, r.evicted = 1000, true
						case (newest + 2) % len(uids):
							r.version, r.incarnation = 2000, got-1
						}
						r.store(t, db)
					}
					if got, err := incarnation.ResolveInPages(size)(t.Context(), db, kinds, "one", at(100), time.Unix(0, 0)); err != nil || got != want {
						t.Fatalf("pages of %d rows, no row is ahead: incarnation %d, %v, want %d", size, got, err, want)
					}
					stored{uid: uids[newest : newest+1], version: 101, incarnation: got}.store(t, db)
				}
			}
		})
	}
}

// TestResolveReadsLastClosedRows has many closed rows, of which the last one closed is the newest, and then as many evicted
// ones. It reads only one page of each.
func TestResolveReadsLastClosedRows(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	resolve := func(want int64) {
		t.Helper()
		if got, err := incarnation.ResolveInPages(2)(t.Context(), db, kinds, "one", at(100), time.Unix(0, 0)); err != nil || got != want {
			t.Fatalf("incarnation %d, %v, want %d", got, err, want)
		}
	}
	resolve(1)
	const former = 1000
	for i := range former {
		stored{uid: fmt.Sprintf("a-%d", i), version: 100, incarnation: 1, closed: time.Duration(i+1) * time.Second}.store(t, db)
	}
	stored{uid: "e", version: 1000, incarnation: 1, evicted: true, closed: time.Minute}.store(t, db)
	reads := dbtest.CountReads(t, db)
	resolve(1)
	if n := reads(); n > former {
		t.Errorf("%d reads with %d closed rows", n, former)
	}
	stored{uid: "b", version: 101, incarnation: 1, closed: time.Hour}.store(t, db)
	resolve(2)
	if _, err := db.ExecContext(t.Context(), "UPDATE project SET evict_time = '2000-01-01', delete_time = NULL"); err != nil {
		t.Fatal(err)
	}
	reads = dbtest.CountReads(t, db)
	resolve(2)
	if n := reads(); n > former {
		t.Errorf("%d reads with %d evicted rows", n, former)
	}
	stored{uid: "a-7", version: 1000, incarnation: 5, evicted: true}.store(t, db)
	resolve(6)
}

// TestResolveReadsRowsBeforeLock bumps the incarnation after Resolve has read the rows and before it has the lock.
func TestResolveReadsRowsBeforeLock(t *testing.T) {
	w := watch(t)
	tx, err := w.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "UPDATE incarnation SET incarnation = 2"); err != nil {
		t.Fatal(err)
	}
	resolve := func() (int64, error) {
		return incarnation.Resolve(t.Context(), w.db, w.watch.Kinds, "cluster-uid", at(100), time.Unix(0, 0))
	}
	failed := make(chan error, 1)
	go func() {
		_, err := resolve()
		failed <- err
	}()
	expect.Eventually(t, expect.Long, func() error {
		if len(dbtest.Strings(t, w.db, "SELECT info FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'SELECT MAX(%FOR UPDATE'")) == 0 {
			return errors.New("no transaction waits for the lock")
		}
		return nil
	})
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "incarnation changed while rows were read: got 2, want 1") {
		t.Errorf("got error %v, want that of a changed incarnation", err)
	}
	if got, err := resolve(); err != nil || got != 2 {
		t.Errorf("again: incarnation %d, %v, want 2", got, err)
	}
}

// TestResolveReadsRowsBeforeVersion has a former leader that commits a newer version once the cluster's version was read.
func TestResolveReadsRowsBeforeVersion(t *testing.T) {
	w := watch(t)
	n, err := incarnation.Resolve(t.Context(), w.db, w.watch.Kinds, "cluster-uid", func(context.Context) (int64, error) {
		stored{uid: "new", version: 150, incarnation: 1}.store(t, w.db) //nolint:contextcheck // it has that of the test
		return 100, nil
	}, time.Unix(0, 0))
	if err != nil || n != 1 {
		t.Errorf("incarnation %d, %v, want 1", n, err)
	}
}

// at returns the version of a cluster that does not change.
func at(version int64) incarnation.Version {
	return func(context.Context) (int64, error) { return version, nil }
}

// stored is the row of a Project.
type stored struct {
	uid                  string
	version, incarnation int64
	evicted              bool
	closed               time.Duration // since a point in time; 0 means live
}

func (r stored) store(t *testing.T, db *sql.DB) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), "REPLACE INTO project (uid, group_ver, namespace, name, res_version, incarnation, evict_time, delete_time, create_time, update_time, proto, json)"+
		" VALUES (?, 'v', 'ns', ?, ?, ?, IF(?, NOW(6), NULL), IF(?, '2026-01-01' + INTERVAL ? SECOND, NULL), NOW(6), NOW(6), '', '{}')",
		r.uid, r.uid, r.version, r.incarnation, r.evicted, r.closed > 0, r.closed.Seconds()); err != nil {
		t.Fatal(err)
	}
}
