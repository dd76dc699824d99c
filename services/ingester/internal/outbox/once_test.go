package outbox_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
)

// errorLog counts what is logged as an error.
type errorLog struct {
	mu    sync.Mutex
	count int
}

func (*errorLog) Init(logr.RuntimeInfo)            {}
func (*errorLog) Enabled(int) bool                 { return true }
func (*errorLog) Info(int, string, ...any)         {}
func (l *errorLog) WithValues(...any) logr.LogSink { return l }
func (l *errorLog) WithName(string) logr.LogSink   { return l }

func (l *errorLog) Error(error, string, ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count++
}

func (l *errorLog) lines() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// insert adds n rows of objects o0, o1, ... in turn, with ids from first, committed at the minute.
func (f *fixture) insert(first, n, objects, minute int) {
	f.Helper()
	const batchSize = 500
	for start := 0; start < n; start += batchSize {
		var rows []string
		for i := start; i < min(start+batchSize, n); i++ {
			rows = append(rows, fmt.Sprintf("(%d, 'model', 'default', 'o%d', 'u-o%d', 1, %d, 'updated', '2026-11-21 04:%02d:00')",
				first+i, (first+i)%objects, (first+i)%objects, first+i, minute))
		}
		_, err := f.db.ExecContext(f.Context(), "INSERT INTO outbox (id, kind, namespace, name, uid, generation, res_version, operation, committed_at) VALUES "+
			strings.Join(rows, ", "))
		if err != nil {
			f.Fatal(err)
		}
	}
}

// expectEachOnce checks the ids of all messages of the objects, each once and in the order of each object.
func (f *fixture) expectEachOnce(n int) {
	f.Helper()
	last := map[string]int64{}
	seen := map[int64]bool{}
	for _, m := range f.messages() {
		if strings.HasPrefix(m.Subject, probeSubject) {
			continue
		}
		_, change, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			f.Fatal(err)
		}
		if seen[change.OutboxID] {
			f.Errorf("event %d is there twice", change.OutboxID)
		}
		seen[change.OutboxID] = true
		if change.OutboxID < last[change.Object.UID] {
			f.Errorf("event %d of %s after %d", change.OutboxID, change.Object.UID, last[change.Object.UID])
		}
		last[change.Object.UID] = change.OutboxID
	}
	if len(seen) != n {
		f.Errorf("%d events, want %d", len(seen), n)
	}
}

const probeSubject = contract.ChangePrefix + ".probe"

// expireDuplicateWindow makes the stream drop all ids of its duplicate window, as after ten minutes.
func (f *fixture) expireDuplicateWindow() {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), contract.StreamChanges)
	if err != nil {
		f.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.Duplicates = 100 * time.Millisecond
	if _, err := f.js.UpdateStream(f.Context(), cfg); err != nil {
		f.Fatal(err)
	}
	f.nats.Stop() // a timer of ten minutes runs already
	f.nats.Start()
	probe := func() error {
		ack, err := f.js.PublishMsg(f.Context(), &nats.Msg{
			Subject: probeSubject, Header: nats.Header{contract.HeaderMsgID: {"probe"}},
		})
		if err == nil && ack.Duplicate {
			return fmt.Errorf("the stream still has the id")
		}
		return err
	}
	expect.Eventually(f, expect.Long, probe)
	expect.Eventually(f, expect.Long, probe)
}

// TestDeduplicateAfterCrashBeforeRemoval finds rows whose events are in the stream, long after
// their ids left the duplicate window of the stream, among new rows.
func TestDeduplicateAfterCrashBeforeRemoval(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 600, 7, 42)
	stop := f.run()
	f.empty()
	stop()
	f.expireDuplicateWindow()
	f.insert(301, 350, 7, 42) // 300 that are in the stream, 50 that are not
	f.relay()
	f.empty()
	f.expectEachOnce(650)
}

// TestDeduplicateWaitsForStream has events in the stream, outside its duplicate window, while the stream
// cannot be read, as after an outage of the bus.
func TestDeduplicateWaitsForStream(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 40, 7, 42)
	stop := f.run()
	f.empty()
	stop()
	f.expireDuplicateWindow()
	f.setStreamAvailable(false)
	f.insert(1, 45, 7, 42) // 40 that are in the stream, 5 that are not
	f.relay()
	const minErrors = 5
	expect.Eventually(t, expect.Long, func() error {
		if n := testutil.ToFloat64(f.metrics.Errors.WithLabelValues("publish", "no_stream")); n < minErrors {
			return fmt.Errorf("got %v publish errors, want %d", n, minErrors)
		}
		return nil
	})
	f.setStreamAvailable(true)
	f.empty()
	f.expectEachOnce(45)
}

// setStreamAvailable sets whether the messages of the stream can be read.
func (f *fixture) setStreamAvailable(available bool) {
	f.Helper()
	stream, err := f.js.Stream(f.Context(), contract.StreamChanges)
	if err != nil {
		f.Fatal(err)
	}
	cfg := stream.CachedInfo().Config
	cfg.AllowDirect = available
	if _, err := f.js.UpdateStream(f.Context(), cfg); err != nil {
		f.Fatal(err)
	}
}

// TestRelayPublishesEventsOfNewDatabase restores the database from an older backup: the numbers of its events repeat,
// within the duplicate window of the stream, for the same objects.
func TestRelayPublishesEventsOfNewDatabase(t *testing.T) {
	f := newFixture(t)
	f.insert(500, 20, 2, 42)
	stop := f.run()
	f.empty()
	stop()
	f.insert(490, 20, 2, 43)
	f.relay()
	f.empty()
	messages := f.messages()
	if len(messages) != 40 {
		t.Errorf("%d messages, want 40", len(messages))
	}
	last := map[string]string{}
	for _, m := range messages {
		e, _, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if e.Sequence <= last[e.Subject] {
			t.Errorf("the sequence of %s is %q after %q", e.Subject, e.Sequence, last[e.Subject])
		}
		last[e.Subject] = e.Sequence
	}
}

// TestDeduplicateWithTwoLeaders lets two relays work on the same table.
func TestDeduplicateWithTwoLeaders(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 2000, 13, 42)
	f.relay()
	f.relay()
	f.empty()
	f.expectEachOnce(2000)
}

// TestDeduplicateWithCrashesAndBusOutages has a backlog of an outage, relays that crash at
// any moment, and a bus that is killed meanwhile.
func TestDeduplicateWithCrashesAndBusOutages(t *testing.T) {
	f := newFixture(t)
	f.nats.Stop()
	const rows, objects = 6000, 40
	f.insert(1, rows, objects, 42)
	stop := f.run()
	f.nats.Start()
	remaining := func() int {
		var n int
		if err := f.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM outbox").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for crash := 1; remaining() > 0; crash++ {
		target := max(0, remaining()-rand.IntN(rows/8))
		expect.Eventually(t, expect.Long, func() error {
			if n := remaining(); n > target {
				return fmt.Errorf("%d rows wait", n)
			}
			return nil
		})
		if crash%4 == 0 {
			f.nats.Stop()
			f.nats.Start()
		}
		stop()
		stop = f.run()
	}
	stop()
	f.expectEachOnce(rows)
}

// TestRelayPublishesAllKindsAndLongNames has the longest names that Kubernetes allows.
func TestRelayPublishesAllKindsAndLongNames(t *testing.T) {
	f := newFixture(t)
	label := strings.Repeat("a", 62)
	name := strings.Join([]string{label, label, label, label, "b"}, ".")
	operations := []contract.ChangeOperation{
		contract.ChangeCreated, contract.ChangeUpdated, contract.ChangeDeleted, contract.ChangeEvicted, contract.ChangeRestored,
	}
	for _, kind := range api.Kinds() {
		for _, op := range operations {
			_, err := f.db.ExecContext(t.Context(), "INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at)"+
				" VALUES (?, ?, ?, ?, 1, 1, ?, NOW(6))", strings.ToLower(kind), strings.Repeat("n", 63), name, strings.Repeat("u", 36), string(op))
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	f.relay()
	f.empty()
	if got, want := len(f.messages()), len(api.Kinds())*len(operations); got != want {
		t.Errorf("%d messages, want %d", got, want)
	}
	if n := testutil.ToFloat64(f.metrics.Errors.WithLabelValues("publish", "malformed")); n != 0 {
		t.Errorf("%v events could not be sent", n)
	}
}

// TestCompactionOfManyPages has more rows than one page of the walk.
func TestCompactionOfManyPages(t *testing.T) {
	f := newFixture(t)
	f.nats.Stop()
	f.insert(1, 25_000, 11, 42)
	f.relay(func(c *outbox.Config) { c.MaxRows = 100 })
	expect.Eventually(t, expect.Long, func() error {
		if n := dbtest.Strings(t, f.db, "SELECT CONCAT(COUNT(*), ' ', MIN(id), ' ', MAX(id)) FROM outbox")[0]; n != "90 24911 25000" {
			return fmt.Errorf("rows, first and last id: %s", n)
		}
		return nil
	})
}

// run starts a relay and returns the function that stops it.
func (f *fixture) run() (stop func()) {
	f.Helper()
	r := outbox.New(f.config())
	ctx, cancel := context.WithCancel(f.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := r.Start(ctx); err != nil {
			f.Error(err)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
