package events

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// A server whose users had no account has its streams in $G. Its directory, renamed as in deploy/nats/README.md, becomes the
// account of the streams, with all messages and the positions of all consumers.
func TestRenamedAccountKeepsStreams(t *testing.T) {
	dir := t.TempDir()
	earlier := natstest.Start(t, func(o *server.Options) { o.StoreDir = dir })
	nc := must[*nats.Conn](t)(nats.Connect(earlier.URL()))
	defer nc.Close()
	g := guarded{T: t, admin: must[jetstream.JetStream](t)(jetstream.New(nc))}
	if err := bus.Bootstrap(t.Context(), g.admin, bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	withMarkers(t, g.admin)
	makeConsumer(t, g.admin, contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
	g.publish("team-a", "read before")
	g.publish("team-a", "read after")
	read := func(js jetstream.JetStream, want string) {
		t.Helper()
		m := must[jetstream.Msg](t)(must[jetstream.Consumer](t)(js.Consumer(t.Context(), contract.StreamLifecycle, "pager")).Next())
		if err := m.DoubleAck(t.Context()); err != nil || string(m.Data()) != want {
			t.Errorf("read %q, %v, want %q", m.Data(), err, want)
		}
	}
	read(g.admin, "read before")
	before := g.state()
	earlier.Stop()
	if err := os.Rename(filepath.Join(dir, "jetstream", "$G"), filepath.Join(dir, "jetstream", "FLOTILLA")); err != nil {
		t.Fatal(err)
	}

	g.Server = busauth.Start(t, names, func(o *server.Options) { o.StoreDir = dir })
	g.admin = g.plain(busauth.Admin)
	if diff := cmp.Diff(before, g.state()); diff != "" {
		t.Errorf("the streams differ (-before +after):\n%s", diff)
	}
	read(g.plain("pager"), "read after")
	if err := bus.Bootstrap(t.Context(), g.admin, bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	if drifts, err := bus.Verify(t.Context(), g.admin, bus.DefaultParams()); err != nil || len(drifts) > 0 {
		t.Errorf("after the bootstrap: %v, %v", drifts, err)
	}
	if got := g.entry(g.plain("pager").Conn(), "team-a"); got != "entry of team-a" {
		t.Errorf("got entry %q", got)
	}
}

// withMarkers gives the streams the settings of earlier releases.
func withMarkers(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for _, name := range []string{contract.StreamObservations, contract.StreamHeartbeats} {
		cfg := must[jetstream.Stream](t)(js.Stream(t.Context(), name)).CachedInfo().Config
		cfg.SubjectDeleteMarkerTTL, cfg.AllowRollup = 10*time.Minute, true
		if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
}
