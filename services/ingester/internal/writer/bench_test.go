package writer_test

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/writer"
)

// BenchmarkWriter writes new Models with 3 labels and 2 annotations from 256 callers, without a
// bus and without an API server: the upper bound of writer and server.
func BenchmarkWriter(b *testing.B) {
	onServers(b, func(b *testing.B, db *sql.DB, records []*record.Record) {
		b.Helper()
		w := newWriter(b, db, func(c *writer.Config) { c.Outbox = false })
		queue := make(chan *record.Record, len(records))
		for _, r := range records {
			queue <- r
		}
		close(queue)
		measured(b, db, len(records), func() {
			parallel(256, func() {
				for r := range queue {
					if _, err := w.Write(b.Context(), r); err != nil {
						b.Error(err)
					}
				}
			})
		})
	})
}

// BenchmarkRawInserts inserts the same rows without the writer: 100 objects in a
// transaction, one prepared statement for each table, four connections.
func BenchmarkRawInserts(b *testing.B) {
	onServers(b, func(b *testing.B, db *sql.DB, records []*record.Record) {
		b.Helper()
		slices.SortFunc(records, func(x, y *record.Record) int { return cmp.Compare(x.UID, y.UID) })
		batches := make(chan []*record.Record, len(records))
		for batch := range slices.Chunk(records, 100) {
			batches <- batch
		}
		close(batches)
		measured(b, db, len(records), func() {
			parallel(4, func() {
				statements := map[string]*sql.Stmt{}
				for batch := range batches {
					insertRaw(b, db, statements, batch)
				}
			})
		})
	})
}

func parallel(n int, fn func()) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(fn)
	}
	wg.Wait()
}

// insertRaw inserts the rows of records in one transaction.
func insertRaw(b *testing.B, db *sql.DB, statements map[string]*sql.Stmt, batch []*record.Record) {
	b.Helper()
	kind := batch[0].Kind
	columns := []string{"uid", "group_ver", "namespace", "name", "res_version", "create_time", "update_time", "proto", "json"}
	for _, c := range kind.Columns {
		columns = append(columns, c.Name)
	}
	var objects, labels, annotations []any
	for _, r := range batch {
		objects = append(objects, r.UID, r.GroupVersion, r.Namespace, r.Name, r.ResVersion, r.CreateTime, r.CreateTime, r.Proto, r.JSON)
		objects = append(objects, r.Indexed...)
		for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
			labels = append(labels, r.UID, key, r.Labels[key])
		}
		for _, key := range slices.Sorted(maps.Keys(r.Annotations)) {
			annotations = append(annotations, r.UID, key, r.Annotations[key])
		}
	}
	tx, err := db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Error(err)
		return
	}
	pair := []string{"obj_uid", "key", "value"}
	for _, err := range []error{
		insertTable(b, db, tx, statements, kind.Table, columns, objects),
		insertTable(b, db, tx, statements, kind.LabelsTable(), pair, labels),
		insertTable(b, db, tx, statements, kind.AnnotationsTable(), pair, annotations),
		tx.Commit(),
	} {
		if err != nil {
			b.Error(err)
		}
	}
}

func insertTable(b *testing.B, db *sql.DB, tx *sql.Tx, statements map[string]*sql.Stmt, table string, columns []string, args []any) error {
	b.Helper()
	key := table + strconv.Itoa(len(args))
	if statements[key] == nil {
		quoted := make([]string, 0, len(columns))
		for _, c := range columns {
			quoted = append(quoted, schema.Quote(c))
		}
		row := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
		query := "INSERT INTO " + schema.Quote(table) + " (" + strings.Join(quoted, ", ") + ") VALUES " +
			strings.TrimSuffix(strings.Repeat(row+", ", len(args)/len(columns)), ", ")
		statement, err := db.PrepareContext(b.Context(), query) //nolint:sqlclosecheck // ends with the database
		if err != nil {
			return err
		}
		statements[key] = statement
	}
	_, err := tx.StmtContext(b.Context(), statements[key]).ExecContext(b.Context(), args...) //nolint:sqlclosecheck // ends with the transaction
	return err
}

// onServers runs a benchmark on each kind of server, with a current schema and b.N new objects.
func onServers(b *testing.B, run func(b *testing.B, db *sql.DB, records []*record.Record)) {
	b.Helper()
	for _, vendor := range mysqltest.Vendors() {
		b.Run(string(vendor), func(b *testing.B) {
			db := dbtest.Open(b, mysqltest.DSNOf(b, vendor))
			dbtest.Migrate(b, db)
			run(b, db, newObjects(b, b.N))
		})
	}
}

// newObjects returns records whose uids have no order, like those of the API server. The text is as
// long as that of the Models in test/stack/bench.
func newObjects(b *testing.B, n int) []*record.Record {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	object := dbtest.Model("model", "uid", 1)
	annotations := object.GetAnnotations()
	annotations["at"] = strings.Repeat("a field of managedFields, ", 30)
	object.SetAnnotations(annotations)
	first := build(b, object, record.Live)
	records := make([]*record.Record, n)
	for i := range records {
		r := *first
		r.Name = fmt.Sprintf("model-%06d", i)
		r.UID = fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", random.Uint32(), random.Uint32()>>16, random.Uint32()>>20, random.Uint32()>>20, random.Uint64()>>16)
		records[i] = &r
	}
	return records
}

// measured reports the rate of n objects, and the processor time of one in this process and in the server.
func measured(b *testing.B, db *sql.DB, n int, fn func()) {
	b.Helper()
	server := serverPID(b, db)
	start, clientTime, serverTime := time.Now(), used(b, os.Getpid()), used(b, server)
	b.ResetTimer()
	fn()
	b.StopTimer()
	b.ReportMetric(float64(n)/time.Since(start).Seconds(), "objects/s")
	b.ReportMetric((used(b, os.Getpid())-clientTime)/float64(n)*1e6, "client-us/op")
	b.ReportMetric((used(b, server)-serverTime)/float64(n)*1e6, "server-us/op")
}

// serverPID returns the server's process, or 0 if it runs elsewhere.
func serverPID(b *testing.B, db *sql.DB) int {
	b.Helper()
	var path string
	if err := db.QueryRowContext(b.Context(), "SELECT @@pid_file").Scan(&path); err != nil {
		b.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		b.Fatal(err)
	}
	return pid
}

// used returns the processor seconds of a process.
func used(b *testing.B, pid int) float64 {
	b.Helper()
	if pid == 0 {
		return 0
	}
	seconds, err := proc.CPUSeconds(pid)
	if err != nil {
		b.Fatal(err)
	}
	return seconds
}
