package outbox_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
)

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

// TestDeduplicateRestoredRows has many more rows that are in the stream than a relay looks ahead: those of
// a database that was restored from a backup taken during an outage of the bus.
func TestDeduplicateRestoredRows(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 3000, 7, 42)
	stop := f.run()
	f.empty()
	stop()
	f.expireDuplicateWindow()
	f.insert(1, 3050, 7, 42) // 50 that are not in the stream
	f.relay()
	f.empty()
	f.expectEachOnce(3050)
}

// TestDeduplicateAgedRows restores a backup whose first events have left the stream, while the relay is down and
// while it runs. The relay looks up all rows before it publishes the aged ones again.
func TestDeduplicateAgedRows(t *testing.T) {
	for name, running := range map[string]bool{"the relay is down": false, "the relay runs": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.expireDuplicateWindow()
			const aged, published, added = 2500, 3000, 50
			f.insert(1, published, published, 42)
			stop := f.run()
			f.empty()
			if !running {
				stop()
			}
			f.age(aged)
			f.insert(1, published+added, published, 42)
			if running {
				f.empty()
				stop()
			} else {
				f.crashWhilePublishing(published)
				f.relay()
				f.empty()
			}
			f.expectEachOnce(published + added)
		})
	}
}

// TestDeduplicateRowsThatComeBackTwice restores a database for a relay that has published no row of the kind: all of them
// were in the stream.
func TestDeduplicateRowsThatComeBackTwice(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 20, 7, 42)
	stop := f.run()
	f.empty()
	stop()
	f.expireDuplicateWindow()
	f.insert(1, 20, 7, 42)
	r := f.relay()
	f.empty()
	f.insert(1, 20, 7, 42)
	r.Notify()
	f.empty()
	f.expectEachOnce(20)
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
