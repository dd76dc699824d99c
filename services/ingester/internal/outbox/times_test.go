package outbox_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
)

// expectRising checks that the stream has the rows 1 to n, with rising sequences.
func (f *fixture) expectRising(n int) {
	f.Helper()
	f.expectEachOnce(n)
	last := ""
	for i, m := range f.messages() {
		e, change, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			f.Fatal(err)
		}
		if change.OutboxID != int64(i+1) || e.Sequence <= last {
			f.Errorf("message %d: row %d, sequence %s after %s", i, change.OutboxID, e.Sequence, last)
		}
		last = e.Sequence
	}
}

// TestSequenceRisesWhenClockGoesBack sets the clock of the database back by five minutes between changes of one object: in one read
// of the outbox, between two of a relay, and between two relays.
func TestSequenceRisesWhenClockGoesBack(t *testing.T) {
	t.Run("one read", func(t *testing.T) {
		f := newFixture(t)
		f.insert(1, 1, 1, 5)
		f.insert(2, 3, 1, 0)
		f.relay()
		f.empty()
		f.expectRising(4)
	})
	t.Run("two reads", func(t *testing.T) {
		f := newFixture(t)
		f.insert(1, 2, 1, 5)
		r := f.relay()
		f.empty()
		f.insert(3, 2, 1, 0)
		r.Notify()
		f.empty()
		f.expectRising(4)
	})
	t.Run("a transaction that commits late", func(t *testing.T) {
		f := newFixture(t)
		f.insert(1, 1, 2, 5)
		f.insert(2, 1, 2, 5)
		f.insert(4, 1, 2, 5)
		r := f.relay()
		f.empty()
		f.insert(3, 1, 2, 0) // of the object of row 1
		r.Notify()
		f.empty()
		var last string
		for _, m := range f.messages() {
			e, change, err := contract.Decode[contract.Change](m.Data)
			if err != nil {
				t.Fatal(err)
			}
			if change.OutboxID%2 == 1 && e.Sequence <= last {
				t.Errorf("row %d has sequence %s after %s", change.OutboxID, e.Sequence, last)
			}
			if change.OutboxID%2 == 1 {
				last = e.Sequence
			}
		}
	})
	t.Run("two relays", func(t *testing.T) {
		f := newFixture(t)
		f.insert(1, 2, 1, 5)
		stop := f.run()
		f.empty()
		stop()
		f.insert(3, 2, 1, 0)
		f.relay()
		f.empty()
		f.expectRising(4)
	})
}

// TestAbsurdTimeIsNotCopied has a row of a clock that was wrong by days for a moment: the next ones keep their times.
func TestAbsurdTimeIsNotCopied(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 3, 1, 0)
	if _, err := f.db.ExecContext(t.Context(), "UPDATE outbox SET committed_at = '2100-01-01' WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	f.relay()
	f.empty()
	f.expectEachOnce(3)
	for _, m := range f.messages()[1:] {
		_, change, err := contract.Decode[contract.Change](m.Data)
		if err != nil {
			t.Fatal(err)
		}
		if year := change.CommittedAt.Year(); year != 2026 {
			t.Errorf("row %d was committed in %d", change.OutboxID, year)
		}
	}
}

// failing is a JetStream that rejects all messages after the first ones.
type failing struct {
	jetstream.JetStream
	mu       sync.Mutex
	accepted int
	rejected []string // ids
}

func (j *failing) PublishMsgAsync(m *nats.Msg, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.accepted == 0 {
		j.rejected = append(j.rejected, m.Header.Get(contract.HeaderMsgID))
		return nil, errors.New("rejected")
	}
	j.accepted--
	return j.JetStream.PublishMsgAsync(m, options...)
}

func (j *failing) attempts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rejected
}

// TestEventKeepsIDAfterFailedPublish publishes the first row of an object, and fails to publish the second one, which is from a clock that
// went back. Each attempt, also that of another relay, has the same id.
func TestEventKeepsIDAfterFailedPublish(t *testing.T) {
	f := newFixture(t)
	f.insert(1, 1, 1, 5)
	f.insert(2, 1, 1, 0)
	js := &failing{JetStream: f.js, accepted: 1}
	f.relay(func(c *outbox.Config) { c.JetStream = js })
	expect.Eventually(t, expect.Long, func() error {
		if n := len(js.attempts()); n < 2 {
			return fmt.Errorf("%d attempts", n)
		}
		return nil
	})
	f.expectRising(1)
	f.age(1) // the other relay cannot compute the time again
	f.relay()
	f.empty()
	id := f.messages()[0].Header.Get(contract.HeaderMsgID)
	for _, attempt := range js.attempts() {
		if attempt != id {
			t.Errorf("an attempt has id %s, the event %s", attempt, id)
		}
	}
}

// TestTimesInOrderStay has commit times of two kinds that rise for each of them, and within a millisecond go back.
func TestTimesInOrderStay(t *testing.T) {
	f := newFixture(t)
	for _, row := range []string{
		"1, 'model', '2026-11-21 12:05:00.000900'", "2, 'project', '2026-11-21 12:00:00.000000'", "3, 'model', '2026-11-21 12:05:00.000100'",
	} {
		_, err := f.db.ExecContext(t.Context(), "INSERT INTO outbox (id, kind, committed_at, namespace, name, uid, generation, res_version, operation)"+
			" VALUES ("+row+", 'default', 'o', 'u-o', 1, 1, 'updated')")
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func() []string {
		return dbtest.Strings(t, f.db, "SELECT CONCAT_WS(' ', id, committed_at) FROM outbox ORDER BY id")
	}
	before := read()
	js := &failing{JetStream: f.js}
	f.relay(func(c *outbox.Config) { c.JetStream = js })
	expect.Eventually(t, expect.Long, func() error {
		if len(js.attempts()) == 0 {
			return errors.New("no attempt")
		}
		return nil
	})
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Error(diff)
	}
}
