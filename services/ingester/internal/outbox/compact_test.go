package outbox

import (
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
)

func TestRecentIsBounded(t *testing.T) {
	const size = 4
	s := newRecent(size)
	for i := range 100 {
		s.add(strconv.Itoa(i))
		if n := len(s.current) + len(s.previous); n > 2*size {
			t.Fatalf("%d uids in memory after %d, want at most %d", n, i+1, 2*size)
		}
	}
}

// A statement that reads all rows of a full table exceeds the timeout of the connection, so nothing would be dropped.
func TestFullOutboxIsReadInPages(t *testing.T) {
	db := dbtest.Open(t, mysqltest.DSNOf(t, mysqltest.MySQL))
	dbtest.Migrate(t, db)
	const columns = "kind, namespace, name, uid, generation, res_version, operation, committed_at"
	insert := func(rows string) {
		if _, err := db.ExecContext(t.Context(), "INSERT INTO outbox ("+columns+") "+rows); err != nil {
			t.Fatal(err)
		}
	}
	insert("VALUES ('model', 'default', 'm', 'u', 1, 1, 'updated', UTC_TIMESTAMP(6))")
	for range 15 { // to 32,768 rows
		insert("SELECT " + columns + " FROM outbox")
	}
	m, err := metrics.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := New(Config{DB: db, Metrics: m, Log: logr.Discard(), Clock: clock.RealClock{}, MaxRows: 30_000})
	read := dbtest.CountExamined(t, db, "outbox")
	r.measure(t.Context())
	// A derived table counts twice: when it is read, and when it is counted.
	if statements, examined := read(); statements < 2*32_768/compactPage || examined > 2*compactPage {
		t.Errorf("%d statements, one of which examined %d rows, want at most %d", statements, examined, 2*compactPage)
	}
	// MySQL does not count the rows that COUNT(*) of a whole table examines.
	whole := dbtest.Strings(t, db, "SELECT digest_text FROM performance_schema.events_statements_summary_by_digest"+
		" WHERE schema_name = DATABASE() AND digest_text LIKE 'SELECT%FROM `outbox`%' AND digest_text NOT LIKE '%LIMIT%'")
	if len(whole) > 0 {
		t.Errorf("statements without a limit: %q", whole)
	}
	if n := dbtest.Strings(t, db, "SELECT COUNT(*) FROM outbox"); n[0] != "27000" {
		t.Errorf("%s rows are left, want 27000", n[0])
	}
	if n := testutil.ToFloat64(m.Compacted); n != 5768 {
		t.Errorf("got %v compacted events, want 5768", n)
	}
}
