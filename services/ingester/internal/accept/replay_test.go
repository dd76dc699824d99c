package accept_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
)

// published waits until the ingester has published all its change events.
func (d *disaster) published() {
	d.Helper()
	expect.Eventually(d.TB, expect.Long, func() error {
		if n := dbtest.Strings(d.TB, d.DB, "SELECT COUNT(*) FROM outbox")[0]; n != "0" {
			return fmt.Errorf("%s events wait", n)
		}
		return nil
	})
}

// onBus connects to a server of the test.
func onBus(t *testing.T, server *natstest.Server) *bus.Conn {
	t.Helper()
	conn, err := connect(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*time.Second)
		defer cancel()
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	return conn
}

func connect(server *natstest.Server) (*bus.Conn, error) {
	return bus.Connect(bus.Config{URL: server.URL(), Name: "ingester"})
}

// withStream connects the commands to the stream of a server.
func (d *disaster) withStream(server *natstest.Server) {
	d.Cluster = "test"
	d.Env.Env.Bus = func() (*bus.Conn, error) { return connect(server) }
}

// TestAcceptReplaysStream restores an older backup while the stream has all change events since:
// the row of the evicted object stays, that of the deleted one is closed.
func TestAcceptReplaysStream(t *testing.T) {
	server := natstest.Start(t)
	d, _, _ := evictedSince(t, mysqltest.MySQL, onBus(t, server))
	d.withStream(server)
	d.published()
	d.stop()
	d.restoreAll()
	d.isOlder()
	out, err := d.checkpoint(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1     1\n", "/evicted", "  kept\n", "/deleted", "  closed\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not printed:\n%s", want, out)
		}
	}
	const replayed = "first evicted, evicted evicted, kept live, deleted closed"
	d.eventually(replayed)
	d.start()
	d.published()
	d.eventually(replayed)
}

// TestAcceptKeepsRowsBeyondStream keeps a row whose name has no event of its uid. While the stream cannot
// be read, the command changes no row, unless it runs without the stream.
func TestAcceptKeepsRowsBeyondStream(t *testing.T) {
	server := natstest.Start(t)
	d, _, _ := evictedSince(t, mysqltest.MySQL, onBus(t, server))
	d.withStream(server)
	d.published()
	recreated := d.Create(d.Model("deleted")) // its events are the last ones of the name
	d.eventually("first evicted, evicted evicted, kept live, deleted closed, deleted live")
	d.published()
	d.stop()
	d.Wipe(recreated)
	d.restoreAll()
	d.accept("evicted", "deleted")
	d.eventually("first evicted, evicted evicted, kept live, deleted evicted")

	d.restoreAll()
	server.Stop()
	before := d.rows()
	if out, err := d.checkpoint(true); err == nil || !strings.Contains(err.Error(), "set --nats-url= to keep all rows") {
		t.Errorf("%s%v", out, err)
	}
	d.isOlder()
	if got := d.rows(); got != before {
		t.Errorf("rows: %s, want %s", got, before)
	}
	d.Env.Env.Bus = nil
	d.accept("evicted", "deleted")
}
