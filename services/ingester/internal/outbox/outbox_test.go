package outbox_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
)

func TestRelayMessageFormat(t *testing.T) {
	f := newFixture(t)
	f.add("a.b", 1, contract.ChangeCreated)
	f.relay()
	f.empty()
	messages := f.messages()
	if len(messages) != 1 {
		t.Fatalf("%d messages, want 1", len(messages))
	}
	m := messages[0]
	if want := "flotilla.change.v1.test.default.model.a_b.created"; m.Subject != want {
		t.Errorf("subject %q, want %q", m.Subject, want)
	}
	e, change, err := contract.Decode[contract.Change](m.Data)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 4, 42, 0, 123456000, time.UTC)
	want := contract.Change{
		Object: contract.Object{
			GroupVersionKind: contract.GroupVersionKind{Group: "michelangelo.api", Version: "v2", Kind: "Model"},
			Namespace:        "default", Name: "a.b", UID: "u-a.b", Generation: 1, ResourceVersion: "1",
		},
		Operation: contract.ChangeCreated, OutboxID: 1, CommittedAt: at,
	}
	if diff := cmp.Diff(want, change); diff != "" {
		t.Errorf("change (-want +got):\n%s", diff)
	}
	if got := m.Header.Get(nats.MsgIdHdr); got != "u-a.b."+contract.Sequence(at.UnixMilli(), 1) || got != e.ID {
		t.Errorf("message id %q, id %q", got, e.ID)
	}
	if want := contract.Sequence(at.UnixMilli(), 1); e.Sequence != want {
		t.Errorf("sequence %q, want %q", e.Sequence, want)
	}
	if e.Source != "/clusters/test/observers/ingester" || !e.Time.Equal(at) {
		t.Errorf("source %q, time %s", e.Source, e.Time)
	}
}

// TestRelayKeepsOrderAcrossOutage has many events of few objects, and a bus with repeated outages.
func TestRelayKeepsOrderAcrossOutage(t *testing.T) {
	f := newFixture(t)
	f.nats.Stop()
	for range 3 {
		f.add("a", 40, contract.ChangeUpdated)
		f.add("b", 40, contract.ChangeUpdated)
	}
	f.relay()
	f.nats.Start()
	f.empty()
	last := map[string]int64{}
	seen := map[string]bool{}
	for _, m := range f.messages() {
		e, change, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if seen[e.ID] {
			t.Errorf("event %s is there twice", e.ID)
		}
		seen[e.ID] = true
		if change.OutboxID <= last[change.Object.UID] {
			t.Errorf("event %d of %s after %d", change.OutboxID, change.Object.UID, last[change.Object.UID])
		}
		last[change.Object.UID] = change.OutboxID
	}
	if len(seen) != 240 {
		t.Errorf("%d events, want 240", len(seen))
	}
}

// TestRowsStayWithoutStream deletes the stream: the server responds, but stores no message.
func TestRowsStayWithoutStream(t *testing.T) {
	f := newFixture(t)
	if err := f.js.DeleteStream(t.Context(), contract.StreamChanges); err != nil {
		t.Fatal(err)
	}
	f.add("a", 3, contract.ChangeUpdated)
	f.relay()
	expect.Eventually(t, expect.Long, func() error {
		if n := testutil.ToFloat64(f.metrics.Errors.WithLabelValues("publish", "no_stream")); n == 0 {
			return fmt.Errorf("no failure was counted")
		}
		return nil
	})
	if n := dbtest.Strings(t, f.db, "SELECT COUNT(*) FROM outbox")[0]; n != "3" {
		t.Errorf("%s rows wait, want 3", n)
	}
	f.bootstrap()
	f.empty()
	if n := len(f.messages()); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
}

func TestOutboxTableIsBounded(t *testing.T) {
	f := newFixture(t)
	f.nats.Stop()
	f.add("a", 30, contract.ChangeUpdated)
	f.add("b", 1, contract.ChangeDeleted)
	f.add("c", 30, contract.ChangeUpdated)
	logs := &errorLog{}
	f.relay(func(c *outbox.Config) { c.MaxRows, c.Log = 10, logr.New(logs) })
	expect.Eventually(t, expect.Long, func() error {
		if n := dbtest.Strings(t, f.db, "SELECT COUNT(*) FROM outbox")[0]; n != "9" { // a tenth of the bound is free
			return fmt.Errorf("%s rows wait", n)
		}
		if logs.lines() == 0 { // logged after the rows are removed
			return errors.New("nothing was logged")
		}
		return nil
	})
	want := []string{"a 30 updated", "b 1 deleted", "c 30 updated"}
	got := dbtest.Strings(t, f.db, "SELECT CONCAT_WS(' ', name, res_version, operation) FROM outbox WHERE id IN (SELECT MAX(id) FROM outbox GROUP BY uid) ORDER BY id")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the last event of each object (-want +got):\n%s", diff)
	}
	if n := testutil.ToFloat64(f.metrics.Compacted); n != 52 {
		t.Errorf("got %v compacted events, want 52", n)
	}
}

// TestOutboxTableIsBoundedWithManyObjects has one event of each object, and of two a later one. More
// objects than the relay remembers are between the two events of o30, so the first one stays.
func TestOutboxTableIsBoundedWithManyObjects(t *testing.T) {
	f := newFixture(t)
	f.nats.Stop()
	for i := range 40 {
		f.add(fmt.Sprintf("o%d", i), 1, contract.ChangeUpdated)
	}
	f.add("o39", 1, contract.ChangeUpdated)
	f.add("o30", 1, contract.ChangeUpdated)
	f.relay(func(c *outbox.Config) { c.MaxRows, c.Remembered = 20, 4 })
	expect.Eventually(t, expect.Long, func() error {
		if n := dbtest.Strings(t, f.db, "SELECT CONCAT(COUNT(*), ' ', MIN(id), ' ', MAX(id)) FROM outbox")[0]; n != "18 24 42" {
			return fmt.Errorf("rows that wait, the first and the last id: %s", n)
		}
		if n := testutil.ToFloat64(f.metrics.Compacted); n != 24 { // counted after the rows are removed
			return fmt.Errorf("got %v compacted events, want 24", n)
		}
		return nil
	})
}

// TestDeniedKindBlocksNoOther has more rows of a denied kind than the relay reads at once, and then the permission for it.
func TestDeniedKindBlocksNoOther(t *testing.T) {
	const denied, others = 1200, 300
	user := &natstest.User{Username: "ingester", Permissions: &natstest.Permissions{
		Publish: &natstest.SubjectPermission{Deny: []string{contract.ChangePrefix + ".*.*.project.*.*"}},
	}}
	f := newFixture(t, func(o *natstest.Options) { o.Users, o.NoAuthUser = []*natstest.User{user}, user.Username })
	f.insert(1, denied+others, denied+others, 42)
	if _, err := f.db.ExecContext(t.Context(), "UPDATE outbox SET kind = 'project', uid = CONCAT('p-', id),"+
		" committed_at = committed_at + INTERVAL id MICROSECOND WHERE id <= ?", denied); err != nil {
		t.Fatal(err)
	}
	f.insert(denied+others+1, others, 7, 43)
	logs := &errorLog{}
	f.relay(func(c *outbox.Config) { c.Log = logr.New(logs) })
	kinds := func(want ...string) func() error {
		return func() error {
			if diff := cmp.Diff(want, dbtest.Strings(t, f.db, "SELECT CONCAT(kind, ' ', COUNT(*)) FROM outbox GROUP BY kind")); diff != "" {
				return fmt.Errorf("rows that wait (-want +got):\n%s", diff)
			}
			return nil
		}
	}
	expect.Eventually(t, expect.Long, kinds(fmt.Sprintf("project %d", denied)))
	f.add("late", 1, contract.ChangeCreated)
	expect.Eventually(t, expect.Long, kinds(fmt.Sprintf("project %d", denied)))
	if n := testutil.ToFloat64(f.metrics.Errors.WithLabelValues("publish", "denied")); n == 0 {
		t.Error("no denied event was counted")
	}
	if n := logs.lines(); n != 1 {
		t.Errorf("%d errors were logged, want 1", n)
	}
	lookups := f.countLookups("project")
	user.Permissions.Publish.Deny = nil
	f.nats.Stop()
	f.nats.Start()
	f.empty()
	f.expectEachOnce(denied + 2*others + 1)
	if n := lookups(); n > others {
		t.Errorf("%d reads of the stream for %d events of a kind that it did not have, want few", n, denied)
	}
}

// countLookups returns a function that returns the number of reads of the stream for events of a kind since the call.
func (f *fixture) countLookups(kind string) func() int {
	f.Helper()
	sub, err := f.js.Conn().SubscribeSync("$JS.API.DIRECT.GET." + contract.StreamChanges + "." + contract.ChangePrefix + ".*.*." + kind + ".>")
	if err != nil {
		f.Fatal(err)
	}
	return func() int {
		f.Helper()
		if err := f.js.Conn().Flush(); err != nil {
			f.Fatal(err)
		}
		n, _, err := sub.Pending()
		if err != nil {
			f.Fatal(err)
		}
		return n
	}
}

// TestMalformedEventBlocksNoOther has a row of a kind that is not in the contract.
func TestMalformedEventBlocksNoOther(t *testing.T) {
	f := newFixture(t)
	if _, err := f.db.ExecContext(t.Context(), "INSERT INTO outbox (kind, namespace, name, uid, generation, res_version, operation, committed_at)"+
		" VALUES ('ghost', 'default', 'x', 'u', 1, 1, 'created', NOW(6))"); err != nil {
		t.Fatal(err)
	}
	f.add("a", 1, contract.ChangeCreated)
	f.relay()
	f.empty()
	if n := len(f.messages()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}
