package writer_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestConcurrentWritersKeepGreatestVersion has two writers write random versions of the same objects, like two
// processes. The highest version of each must remain, with its labels, and each committed version
// must have exactly one event.
func TestConcurrentWritersKeepGreatestVersion(t *testing.T) {
	const objects, versions, workers = 30, 12, 16
	db, _ := dbtest.Migrated(t)
	writers := []*writer.Writer{newWriter(t, db), newWriter(t, db, func(c *writer.Config) { c.MaxRows = 7 })}
	var jobs []*record.Record
	for o := range objects {
		for v := range versions {
			jobs = append(jobs, model(t, fmt.Sprintf("m%d", o), fmt.Sprintf("u%02d", o), int64(v+1), record.Live))
		}
	}
	rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	committed := run(t, writers, jobs, workers)

	var want []string
	for o := range objects {
		want = append(want, fmt.Sprintf("u%02d 1 %d live algorithm-%d", o, versions, versions))
	}
	equal(t, "rows", want, rows(t, db))
	equal(t, "labels of other versions", []string{"0"}, dbtest.Strings(t, db,
		"SELECT COUNT(*) FROM model_labels l JOIN model m ON m.uid = l.obj_uid WHERE l.`key` = 'version' AND l.value <> m.res_version"))
	equal(t, "events", []string{fmt.Sprint(committed)}, dbtest.Strings(t, db, "SELECT COUNT(DISTINCT uid, res_version) FROM outbox"))
	equal(t, "events with repetitions", []string{fmt.Sprint(committed)}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM outbox"))
	equal(t, "events out of order", []string{"0"}, dbtest.Strings(t, db,
		"SELECT COUNT(*) FROM outbox a JOIN outbox b ON a.uid = b.uid AND a.id < b.id AND a.res_version > b.res_version"))
}

// run writes all jobs and returns how many were committed.
func run(t *testing.T, writers []*writer.Writer, jobs []*record.Record, workers int) int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	next := make(chan *record.Record)
	committed := 0
	for i := range workers {
		w := writers[i%len(writers)]
		wg.Go(func() {
			for r := range next {
				outcome, err := w.Write(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				if outcome != writer.Stale && outcome != writer.Unchanged {
					mu.Lock()
					committed++
					mu.Unlock()
				}
			}
		})
	}
	for _, r := range jobs {
		next <- r
	}
	close(next)
	wg.Wait()
	return committed
}

// TestNameHasOneLiveRow has two writers write many incarnations of the same names.
func TestNameHasOneLiveRow(t *testing.T) {
	const names, uids = 10, 8
	db, _ := dbtest.Migrated(t)
	writers := []*writer.Writer{newWriter(t, db), newWriter(t, db)}
	var jobs []*record.Record
	for n := range names {
		for u := range uids {
			jobs = append(jobs, model(t, fmt.Sprintf("m%d", n), fmt.Sprintf("u%02d-%02d", u, n), int64(u+1), record.Live))
		}
	}
	rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	run(t, writers, jobs, 16)
	want := make([]string, names)
	for n := range names {
		want[n] = fmt.Sprintf("m%d %d", n, uids)
	}
	equal(t, "live rows", want, dbtest.Strings(t, db, "SELECT CONCAT_WS(' ', name, res_version) FROM model WHERE delete_time IS NULL ORDER BY name"))
	equal(t, "rows without an event of their end", []string{"0"}, dbtest.Strings(t, db,
		"SELECT COUNT(*) FROM model m WHERE delete_time IS NOT NULL AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.uid = m.uid AND o.operation = 'deleted')"))
}

// TestBatchesOfSameObjectsDoNotDeadlock writes the same uids from four slots.
func TestBatchesOfSameObjectsDoNotDeadlock(t *testing.T) {
	db, _ := dbtest.Migrated(t)
	m, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	share := func(c *writer.Config) { c.Metrics = m }
	writers := []*writer.Writer{newWriter(t, db, share), newWriter(t, db, share)}
	for round := range 5 {
		var jobs []*record.Record
		for o := range 200 {
			jobs = append(jobs, model(t, fmt.Sprintf("m%d", o), fmt.Sprintf("u%03d", o), int64(round+1), record.Live))
		}
		rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
		run(t, writers, append(jobs, jobs...), 200)
	}
	equal(t, "rows of the last round", []string{"200"}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM model WHERE res_version = 5"))
	if n := testutil.ToFloat64(m.Errors.WithLabelValues("write", "other")); n > 0 {
		t.Errorf("%v transactions failed", n)
	}
	t.Logf("transactions run again for contention: %v", testutil.ToFloat64(m.Errors.WithLabelValues("write", "contention")))
}

// TestConnectionsKilledUnderLoad kills all connections repeatedly while batches are written.
// Callers retry like the controllers; no record is lost or written twice.
func TestConnectionsKilledUnderLoad(t *testing.T) {
	const objects, rounds, kills = 300, 5, 20
	db, dsn := dbtest.Migrated(t)
	other := dbtest.Open(t, dsn)
	w := newWriter(t, db)
	// MySQL's information_schema.processlist fails while a statement with binary content runs;
	// MariaDB's performance_schema is empty by default.
	connections := "SELECT processlist_id FROM performance_schema.threads WHERE processlist_db = DATABASE() AND processlist_id <> CONNECTION_ID()"
	if strings.Contains(dbtest.Strings(t, other, "SELECT VERSION()")[0], "MariaDB") {
		connections = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
	}
	killed := 0
	kill := func() {
		ids := dbtest.Strings(t, other, connections)
		for _, id := range ids {
			if _, err := other.ExecContext(t.Context(), "KILL "+id); err == nil { // it may have ended by itself
				killed++
			}
		}
	}
	for round := range rounds {
		var wg sync.WaitGroup
		for o := range objects {
			r := model(t, fmt.Sprintf("m%d", o), fmt.Sprintf("u%03d", o), int64(round+1), record.Live)
			wg.Go(func() {
				for t.Context().Err() == nil {
					if _, err := w.Write(t.Context(), r); err == nil {
						return
					}
				}
			})
		}
		for range kills / rounds {
			kill()
		}
		wg.Wait()
	}
	equal(t, "rows", []string{fmt.Sprint(objects)}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM model WHERE res_version = ?", rounds))
	equal(t, "events", []string{fmt.Sprint(objects * rounds)}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM outbox"))
	equal(t, "labels", []string{fmt.Sprint(objects * 3)}, dbtest.Strings(t, db, "SELECT COUNT(*) FROM model_labels"))
	if killed == 0 {
		t.Error("no connection was killed, so nothing was tested")
	}
	t.Logf("killed %d connections", killed)
}
