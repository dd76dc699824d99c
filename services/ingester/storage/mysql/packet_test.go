package mysql_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/database"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

const mebibyte = 1 << 20

// packetFixture is a store whose server has another max_allowed_packet than the other tests.
type packetFixture struct {
	*testing.T
	admin   *sql.DB
	store   *mysql.Storage
	metrics *metrics.Metrics
}

func newPacketFixture(t *testing.T, vendor mysqltest.Vendor, limit int) *packetFixture {
	t.Helper()
	dsn := mysqltest.PrivateOf(t, vendor).DSN()
	f := &packetFixture{T: t, admin: dbtest.Open(t, dsn)}
	f.limit(limit)
	var err error
	if f.metrics, err = metrics.New(nil); err != nil {
		t.Fatal(err)
	}
	f.store = openOn(t, dsn, mysql.Options{Metrics: f.metrics})
	return f
}

// limit sets max_allowed_packet of later connections.
func (f *packetFixture) limit(n int) {
	f.Helper()
	exec(f.T, f.admin, fmt.Sprintf("SET GLOBAL max_allowed_packet = %d", n))
}

// reconnect closes the idle connections of the store.
func (f *packetFixture) reconnect() {
	database.CloseIdle(f.store.DB(), mysql.Pool{})
}

// large returns a Model whose JSON has n bytes.
func large(t *testing.T, version int64, n int) *unstructured.Unstructured {
	t.Helper()
	m := dbtest.Model("large", "large", version)
	size := 0
	for _, text := range []func() string{func() string { return "" }, func() string { return strings.Repeat("x", n-size) }} {
		scores := []any{map[string]any{"name": "auc", "metadata": map[string]any{"text": text()}}}
		if err := unstructured.SetNestedSlice(m.Object, scores, "spec", "qualityScores"); err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(m.Object)
		if err != nil {
			t.Fatal(err)
		}
		size = len(encoded)
	}
	return m
}

// storeAmongOthers stores the objects, each with 20 small ones at the same time, and returns their errors.
func (f *packetFixture) storeAmongOthers(version int64, objects ...*unstructured.Unstructured) []error {
	f.Helper()
	var group sync.WaitGroup
	for i := range 20 {
		uid := fmt.Sprintf("small-%d", i)
		group.Go(func() {
			if err := f.store.Upsert(f.Context(), dbtest.Model(uid, uid, version), false, nil); err != nil {
				f.Errorf("store %s: %v", uid, err)
			}
		})
	}
	errs := make([]error, len(objects))
	for i, o := range objects {
		group.Go(func() { errs[i] = f.store.Upsert(f.Context(), o, false, nil) })
	}
	group.Wait()
	return errs
}

func (f *packetFixture) expectStored(version int64, want string) {
	f.Helper()
	if got := dbtest.Strings(f, f.admin, "SELECT COUNT(*) FROM model WHERE res_version = ?", version)[0]; got != want {
		f.Errorf("%s rows have version %d, want %s", got, version, want)
	}
}

func expectTooLong(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, storage.ErrRejected) {
		t.Fatalf("got %v, want ErrRejected", err)
	}
	for _, text := range []string{"JSON has 1200000 bytes", "max_allowed_packet of the server is 1048576"} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not contain %q: %v", text, err)
		}
	}
}

// TestTooLongObjectIsRejectedAlone stores an object that is longer than max_allowed_packet among others, raises the limit, and
// lowers it again while the store still has the larger one.
func TestTooLongObjectIsRejectedAlone(t *testing.T) {
	for _, vendor := range mysqltest.Vendors() {
		t.Run(string(vendor), func(t *testing.T) {
			f := newPacketFixture(t, vendor, mebibyte)
			object := func(version int64) *unstructured.Unstructured { return large(t, version, 1_200_000) }
			expectTooLong(t, f.storeAmongOthers(1, object(1))[0])
			f.expectStored(1, "20")
			if n := testutil.ToFloat64(f.metrics.Errors.WithLabelValues("write", "content")); n != 0 {
				t.Errorf("%v transactions failed for the object, want 0", n)
			}
			expectTooLong(t, f.store.Finish(t.Context(), object(1)))
			if err := f.store.Abandon(t.Context(), object(1)); err != nil {
				t.Errorf("abandon: %v", err)
			}

			f.limit(16 * mebibyte) // the connections keep the lower one
			if err := f.storeAmongOthers(2, object(2))[0]; err != nil {
				t.Fatalf("after max_allowed_packet was raised: %v", err)
			}
			f.expectStored(2, "21")

			f.limit(mebibyte)
			f.reconnect()
			expectTooLong(t, f.storeAmongOthers(3, object(3))[0])
			f.expectStored(3, "20")
			f.storeAmongOthers(4)
			f.expectStored(4, "20")
			if err := f.store.Abandon(t.Context(), object(3)); err != nil {
				t.Errorf("abandon: %v", err)
			}
			if n := dbtest.Strings(t, f.admin, "SELECT COUNT(*) FROM model WHERE uid = 'large' AND delete_time IS NOT NULL")[0]; n != "1" {
				t.Errorf("%s closed rows, want 1", n)
			}
		})
	}
}

// TestTooLongBinaryJSONIsRejectedAlone stores JSON that is shorter than max_allowed_packet, but whose binary form in MySQL is longer.
func TestTooLongBinaryJSONIsRejectedAlone(t *testing.T) {
	f := newPacketFixture(t, mysqltest.MySQL, mebibyte)
	m := large(t, 1, mebibyte-20)
	if err := f.storeAmongOthers(1, m)[0]; !errors.Is(err, storage.ErrRejected) || !strings.Contains(err.Error(), "max_allowed_packet") {
		t.Errorf("got %v, want ErrRejected", err)
	}
	f.expectStored(1, "20")
	f.limit(16 * mebibyte)
	expect.Eventually(t, expect.Long, func() error { // the controller retries as well: each connection with the lower limit fails once
		err := f.store.Upsert(t.Context(), m, false, nil)
		if errors.Is(err, storage.ErrRejected) {
			t.Errorf("after max_allowed_packet was raised: %v", err)
		}
		return err
	})
}
