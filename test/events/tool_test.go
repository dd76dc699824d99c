package events

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// replaceInFile writes a copy of a file with replacements: old and new texts in turn.
func replaceInFile(t *testing.T, from, to string, replacements ...string) {
	t.Helper()
	text := string(must[[]byte](t)(os.ReadFile(from)))
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(text, replacements[i]) {
			t.Fatalf("%s does not contain %q", from, replacements[i])
		}
	}
	if err := os.WriteFile(to, []byte(strings.NewReplacer(replacements...).Replace(text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startFile starts a server with a configuration file.
func startFile(t *testing.T, file string) *server.Server {
	t.Helper()
	o := must[*server.Options](t)(server.ProcessConfigFile(file))
	o.NoLog, o.NoSigs = true, true
	srv := must[*server.Server](t)(server.NewServer(o))
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	if !srv.ReadyForConnections(expect.Long) {
		t.Fatal("the server did not start")
	}
	return srv
}

// readEvent publishes an event of a namespace, which the tool reads.
func readEvent(t *testing.T, aggregator, js jetstream.JetStream, tool, namespace string) {
	t.Helper()
	_, err := aggregator.Publish(t.Context(), contract.LifecyclePrefix+".prod."+namespace+".superset.main.phase", []byte(namespace))
	if err != nil {
		t.Fatal(err)
	}
	m := must[jetstream.Msg](t)(must[jetstream.Consumer](t)(js.Consumer(t.Context(), contract.StreamLifecycle, tool)).Next())
	if err := m.DoubleAck(t.Context()); err != nil || string(m.Data()) != namespace {
		t.Errorf("%s read %q, %v", tool, m.Data(), err)
	}
}

// A tool is added as in deploy/nats/README.md: the other identities work after a reload, and the new one after a restart.
func TestToolIsAdded(t *testing.T) {
	dir := busauth.Files(t, names)
	in := func(name string) string { return filepath.Join(dir, name) }
	config := `listen: "127.0.0.1:-1", jetstream: {store_dir: "` + t.TempDir() + `"}, include "authorization.conf"`
	if err := os.WriteFile(in("test.conf"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := startFile(t, in("test.conf"))
	as := func(identity string) jetstream.JetStream {
		t.Helper()
		nc := must[*nats.Conn](t)(nats.Connect(srv.ClientURL(), nats.UserInfo(identity, busauth.Password), nats.CustomInboxPrefix("_INBOX_"+identity)))
		t.Cleanup(nc.Close)
		return must[jetstream.JetStream](t)(jetstream.New(nc))
	}
	bootstrap, operator, pager := as("bootstrap"), as("superset-operator"), as("pager")
	if err := bus.Bootstrap(t.Context(), bootstrap, bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	makeConsumer(t, bootstrap, contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
	makeConsumer(t, bootstrap, contract.StreamLifecycle, "audit", contract.LifecyclePrefix+".prod.team-b.>")

	replaceInFile(t, in("tool.conf"), in("audit.conf"), "pager", "audit", "team-a", "team-b")
	const account = `  pager { include "tool.conf" }`
	replaceInFile(t, in("authorization.conf"), in("authorization.conf"),
		"tools: [pager]", "tools: [pager, audit]", account, account+"\n"+`  audit { include "audit.conf" }`)
	if err := srv.Reload(); err != nil {
		t.Fatal(err)
	}
	readEvent(t, as("status-aggregator"), pager, "pager", "team-a")
	if _, err := operator.Publish(t.Context(), subjectOf(t, contract.Superset, "superset-operator"), []byte("{}")); err != nil {
		t.Error(err)
	}

	srv.Shutdown()
	srv.WaitForShutdown()
	srv = startFile(t, in("test.conf"))
	readEvent(t, as("status-aggregator"), as("audit"), "audit", "team-b")
}
