package history

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ref   = contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main.v2"}
)

// faulty is a bus whose publishes can fail before or after the stream stored them. An event that is
// published twice is an error, since the stream would store it again after its deduplication window.
type faulty struct {
	*bus.Conn
	t             *testing.T
	before, after func(bus.Message) error
}

func (f *faulty) Publish(ctx context.Context, m bus.Message, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if f.before != nil {
		if err := f.before(m); err != nil {
			return nil, err
		}
	}
	ack, err := f.Conn.Publish(ctx, m, opts...)
	if err == nil && ack.Duplicate {
		f.t.Errorf("published %q again", m.ID)
	}
	if err == nil && f.after != nil {
		err = f.after(m)
	}
	return ack, err
}

// fixture is a store on a real server.
type fixture struct {
	t      *testing.T
	server *natstest.Server
	conn   *bus.Conn
	bus    *faulty
	store  *Store
	clock  *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	server := natstest.Start(t)
	conn, err := bus.Connect(bus.Config{URL: server.URL(), Name: observer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	f := &fixture{
		t: t, server: server, conn: conn, bus: &faulty{Conn: conn, t: t},
		clock: clocktesting.NewFakePassiveClock(start),
	}
	f.restart()
	return f
}

// restart simulates a new process with empty memory.
func (f *fixture) restart() {
	f.t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		f.t.Fatal(err)
	}
	f.store = New(f.bus, ref.Cluster, f.clock, m)
}

func object(uid string) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"},
		Namespace:        ref.Namespace, Name: ref.Name, UID: uid, Generation: 1,
	}
}

// entry returns an entry with the given statuses, each as "Type=Status@second".
func (f *fixture) entry(uid string, statuses ...string) contract.StatusEntry {
	e := contract.StatusEntry{Object: object(uid), Phase: "Running", UpdatedAt: f.clock.Now()}
	for _, s := range statuses {
		var second int
		kind, tail, _ := strings.Cut(s, "=")
		status, at, _ := strings.Cut(tail, "@")
		if _, err := fmt.Sscan(at, &second); err != nil {
			f.t.Fatalf("status %q: %v", s, err)
		}
		e.Conditions = append(e.Conditions, contract.Condition{
			Type: kind, Status: status, Reason: "Test",
			LastTransitionTime: start.Add(time.Duration(second) * time.Second),
		})
	}
	return e
}

func (f *fixture) put(e contract.StatusEntry) *Record {
	f.t.Helper()
	r, err := f.store.Put(f.t.Context(), ref, e, conditions.State{UID: e.Object.UID})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

func (f *fixture) flush() {
	f.t.Helper()
	if err := f.store.Flush(f.t.Context(), ref); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) phases(uid string, ring []transition.Entry) int64 {
	f.t.Helper()
	last, err := f.store.Phases(f.t.Context(), ref, object(uid), ring)
	if err != nil {
		f.t.Fatal(err)
	}
	return last
}

// history returns the events of the stream as lines, without revisions.
func (f *fixture) history() []string {
	f.t.Helper()
	var out []string
	ids := map[string]bool{}
	for _, m := range f.messages() {
		e, l, err := contract.Decode[contract.Lifecycle](m.Data)
		if err != nil {
			f.t.Fatal(err)
		}
		if e.ID != m.Header.Get(contract.HeaderMsgID) || ids[e.ID] {
			f.t.Errorf("id %q, header %q, seen before: %v", e.ID, m.Header.Get(contract.HeaderMsgID), ids[e.ID])
		}
		ids[e.ID] = true
		line := l.Object.UID + " " + string(l.Event)
		if l.Phase != nil {
			line += fmt.Sprintf(" %d:%s", l.Phase.Seq, l.Phase.To)
		}
		if l.Condition != nil {
			line += " " + l.Condition.Type + "=" + l.Condition.After.Status
		}
		if l.Gap {
			line += " gap"
		}
		out = append(out, line)
	}
	return out
}

func (f *fixture) messages() []*jetstream.RawStreamMsg {
	f.t.Helper()
	return natstest.Messages(f.t, f.conn.JetStream(), contract.StreamLifecycle)
}

func (f *fixture) wantHistory(want ...string) {
	f.t.Helper()
	if diff := cmp.Diff(want, f.history()); diff != "" {
		f.t.Errorf("history (-want +got):\n%s", diff)
	}
}

// ring returns entries for a range of seq.
func ring(from, to int64) []transition.Entry {
	var out []transition.Entry
	for seq := from; seq <= to; seq++ {
		out = append(out, transition.Entry{Seq: seq, Time: metav1.NewTime(start), To: fmt.Sprintf("P%d", seq)})
	}
	return out
}
