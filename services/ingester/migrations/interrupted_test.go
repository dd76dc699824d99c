package migrations_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/migrations"
)

const (
	everyColumn = `SELECT CONCAT_WS(' ', table_name, ordinal_position, column_name, column_type, character_set_name, collation_name,
  is_nullable, COALESCE(column_default, '-'), extra) FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position`
	everyKey = `SELECT CONCAT_WS(' ', table_name, index_name, seq_in_index, column_name, non_unique)
FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY table_name, index_name, seq_in_index`
	everyTable = `SELECT CONCAT_WS(' ', table_name, engine, table_collation)
FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name`
)

// state is the schema and the rows of a database.
type state struct {
	Schema   []string
	Cells    map[string]string
	Versions []string
	Notes    []string
}

func stateOf(t *testing.T, db *sql.DB) state {
	t.Helper()
	var s state
	for _, query := range []string{everyTable, everyColumn, everyKey} {
		s.Schema = append(s.Schema, dbtest.Strings(t, db, query)...)
	}
	s.Versions = dbtest.Strings(t, db, "SELECT version_id FROM goose_db_version ORDER BY version_id")
	s.Cells = cells(t, db, tablesOf(t, db)...)
	maps.DeleteFunc(s.Cells, func(cell, _ string) bool {
		// Numbers are skipped when a transaction is rolled back.
		return strings.HasPrefix(cell, "goose_db_version ") || strings.HasPrefix(cell, "taken_over ")
	})
	var err error
	if s.Notes, err = migrations.Notes(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return s
}

// initialState prepares a database, as its name describes.
type initialState struct {
	name    string
	prepare func(*testing.T, *sql.DB)
}

var initialStates = []initialState{
	{"empty", func(*testing.T, *sql.DB) {}},
	{"earlier", func(t *testing.T, db *sql.DB) {
		t.Helper()
		for _, statement := range statements(t, "earlier_schema.sql", "earlier_data.sql") {
			if testKindStatement.MatchString(statement) {
				exec(t, db, statement)
			}
		}
	}},
}

// testKindStatement matches the statements of files in testdata that are about some kinds.
var testKindStatement = regexp.MustCompile(`^(-- .*\n|\n)*(CREATE TABLE IF NOT EXISTS|INSERT INTO) (` + strings.Join(testKinds, "|") + `)(_labels|_annotations)? `)

// TestUpResumesAfterEachKilledStatement kills Up after its first, second, third, ... statement,
// each time on a fresh database, and lets another process complete the migration.
func TestUpResumesAfterEachKilledStatement(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		for _, b := range initialStates {
			t.Run(b.name, func(t *testing.T) {
				const unlimited = 1 << 40
				dsn := mysqltest.DSNOf(t, vendor)
				db := open(t, dsn)
				b.prepare(t, db)
				uninterrupted, process := openKilled(t, dsn, unlimited)
				if _, err := migrations.UpSome(t.Context(), uninterrupted, testKinds...); err != nil {
					t.Fatal(err)
				}
				if err := uninterrupted.Close(); err != nil {
					t.Fatal(err)
				}
				statements := unlimited - process.remaining.Load()
				t.Logf("killing after each of %d statements", statements)
				want := stateOf(t, db)
				for n := range statements {
					t.Run(fmt.Sprint(n+1), func(t *testing.T) {
						t.Parallel()
						killedAfter(t, vendor, b, n+1, want)
					})
				}
			})
		}
	})
}

func killedAfter(t *testing.T, vendor mysqltest.Vendor, b initialState, n int64, want state) {
	t.Helper()
	dsn := mysqltest.DSNOf(t, vendor)
	db := open(t, dsn)
	b.prepare(t, db)
	killed, process := openKilled(t, dsn, n)
	_, err := migrations.UpSome(t.Context(), killed, testKinds...)
	if process.alive() {
		t.Errorf("it ended after fewer statements: %v", err)
	}
	if err := killed.Close(); err != nil {
		t.Logf("close what was killed: %v", err)
	}
	if _, err := migrations.UpSome(t.Context(), db, testKinds...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stateOf(t, db)); diff != "" {
		t.Errorf("undisturbed and killed (-undisturbed +killed):\n%s", diff)
	}
}

// TestConcurrentAdoptions starts four processes on one earlier database.
func TestConcurrentAdoptions(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		single := openLegacy(t, vendor)
		up(t, single)
		dsn := mysqltest.DSNOf(t, vendor)
		db := open(t, dsn)
		load(t, db, "earlier_schema.sql", "earlier_data.sql")
		var wg sync.WaitGroup
		for range 4 {
			process := open(t, dsn)
			wg.Go(func() {
				if _, err := migrations.Up(t.Context(), process); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if diff := cmp.Diff(stateOf(t, single), stateOf(t, db)); diff != "" {
			t.Errorf("one alone and four at once (-alone +four):\n%s", diff)
		}
	})
}

// TestAdoptionSurvivesKilledSessions kills the connections of a process during the adoption, at any
// moment.
func TestAdoptionSurvivesKilledSessions(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		single := openLegacy(t, vendor)
		up(t, single)
		dsn := mysqltest.DSNOf(t, vendor)
		db, other := open(t, dsn), open(t, dsn)
		load(t, db, "earlier_schema.sql", "earlier_data.sql")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for t.Context().Err() == nil {
				_, err := migrations.Up(t.Context(), db)
				if err == nil {
					return
				}
				t.Logf("interrupted: %v", err)
			}
		}()
		killed := 0
		const kills = 15
		for finished := false; !finished && killed < kills; {
			select {
			case <-done:
				finished = true
			default:
				killed += killOthers(t, other)
			}
		}
		<-done
		if killed == 0 {
			t.Error("no connection was killed, so nothing was tested")
		}
		if diff := cmp.Diff(stateOf(t, single), stateOf(t, db)); diff != "" {
			t.Errorf("undisturbed and killed %d times (-undisturbed +killed):\n%s", killed, diff)
		}
	})
}

// killOthers kills the other connections of the database that are running a statement
// which changes something, and counts them.
func killOthers(t *testing.T, db *sql.DB) int {
	t.Helper()
	// MySQL's information_schema.processlist fails while a statement with binary content
	// runs; MariaDB's performance_schema is empty by default.
	query := "SELECT processlist_id FROM performance_schema.threads WHERE processlist_db = DATABASE()" +
		" AND processlist_id <> CONNECTION_ID() AND (processlist_info LIKE 'ALTER%' OR processlist_info LIKE 'CREATE%' OR processlist_info LIKE 'INSERT%')"
	if strings.Contains(dbtest.Strings(t, db, "SELECT VERSION()")[0], "MariaDB") {
		query = "SELECT id FROM information_schema.processlist WHERE db = DATABASE()" +
			" AND id <> CONNECTION_ID() AND (info LIKE 'ALTER%' OR info LIKE 'CREATE%' OR info LIKE 'INSERT%')"
	}
	killed := 0
	for _, id := range dbtest.Strings(t, db, query) {
		if _, err := db.ExecContext(t.Context(), "KILL "+id); err == nil { // it may have ended by itself
			killed++
		}
	}
	return killed
}

// TestUpWaitsForLateResponse makes a change take longer than the read timeout of the connection:
// another transaction locks the table. Up continues until the change is done.
func TestUpWaitsForLateResponse(t *testing.T) {
	forEachVendor(t, func(t *testing.T, vendor mysqltest.Vendor) {
		t.Helper()
		single := openLegacy(t, vendor)
		up(t, single)
		dsn := mysqltest.DSNOf(t, vendor)
		db := open(t, dsn)
		load(t, db, "earlier_schema.sql", "earlier_data.sql")
		holder, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holder.ExecContext(t.Context(), "DELETE FROM cluster WHERE uid = 'missing'"); err != nil {
			t.Fatal(err)
		}
		connector, err := database.Settings{DSN: dsn + "&readTimeout=3s"}.Connector()
		if err != nil {
			t.Fatal(err)
		}
		counter := &connCounter{Connector: connector}
		pool := database.OpenConnector(counter, database.Pool{})
		done := make(chan error, 1)
		go func() {
			_, err := migrations.Up(t.Context(), pool)
			done <- err
		}()
		const connections = 4 // the first three were abandoned
		expect.Eventually(t, expect.Long, func() error {
			if len(done) > 0 { // a server that does not answer a ping in time ends it
				t.Fatalf("Up ended while the table was held: %v", <-done)
			}
			if n := counter.connections.Load(); n < connections {
				return fmt.Errorf("%d connections, want %d; the server runs %q", n, connections, running(t, db))
			}
			return nil
		})
		if err := holder.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(stateOf(t, single), stateOf(t, db)); diff != "" {
			t.Errorf("undisturbed and late (-undisturbed +late):\n%s", diff)
		}
	})
}

// running lists the statements that the server runs for this database.
func running(t *testing.T, db *sql.DB) []string {
	t.Helper()
	return dbtest.Strings(t, db, "SELECT CONCAT_WS(' ', id, command, time, state, LEFT(info, 80)) FROM information_schema.processlist"+
		" WHERE db = DATABASE() AND id <> CONNECTION_ID() ORDER BY id")
}

// connCounter counts the connections of a connector.
type connCounter struct {
	driver.Connector
	connections atomic.Int64
}

func (c *connCounter) Connect(ctx context.Context) (driver.Conn, error) {
	c.connections.Add(1)
	return c.Connector.Connect(ctx)
}
