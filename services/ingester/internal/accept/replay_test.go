package accept_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/mysqltest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/accept"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/outbox"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
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
	conn, err := bus.Connect(bus.Config{URL: server.URL(), Name: "ingester"})
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

func stream(conn *bus.Conn) accept.LastEvent {
	return func(ctx context.Context, kind *registry.Kind, namespace, name string) (*contract.Change, error) {
		return outbox.LastEvent(ctx, conn.JetStream(), contract.Ref{
			Cluster: "test", Namespace: namespace, Kind: contract.Kind(kind.Singular), Name: name,
		})
	}
}

// TestAcceptReplaysStream restores an older backup while the stream has all change events since:
// the row of the evicted object stays, that of the deleted one is closed.
func TestAcceptReplaysStream(t *testing.T) {
	conn := onBus(t, natstest.Start(t))
	d, _, _ := evictedSince(t, mysqltest.MySQL, conn)
	d.lastEvent = stream(conn)
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

// TestAcceptKeepsRowsBeyondStream keeps a row whose name has no event of its uid, and all rows
// while the stream cannot be read.
func TestAcceptKeepsRowsBeyondStream(t *testing.T) {
	server := natstest.Start(t)
	conn := onBus(t, server)
	d, _, _ := evictedSince(t, mysqltest.MySQL, conn)
	d.lastEvent = stream(conn)
	d.published()
	again := d.Create(d.Model("deleted")) // its events are the last ones of the name
	d.eventually("first evicted, evicted evicted, kept live, deleted closed, deleted live")
	d.published()
	d.stop()
	d.Wipe(again)
	d.restoreAll()
	d.accept("evicted", "deleted")
	d.eventually("first evicted, evicted evicted, kept live, deleted evicted")

	d.restoreAll()
	server.Stop()
	var out bytes.Buffer
	if err := (&accept.Command{Accept: true, LastEvent: d.lastEvent}).Run(t.Context(), d.Env.Env, &out); err != nil {
		t.Fatal(err)
	}
	if want := "2     0\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%q is not printed:\n%s", want, out.String())
	}
}
