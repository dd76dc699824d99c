package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const timeout = 2 * time.Minute

// env is a server with the history and the status entries.
type env struct {
	*testing.T
	nc   *nats.Conn
	js   jetstream.JetStream
	kv   jetstream.KeyValue
	file string
	sent int
}

func newEnv(t *testing.T) *env {
	t.Helper()
	srv, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(timeout) {
		t.Fatal("the NATS server did not start")
	}
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	b := &env{T: t, file: filepath.Join(t.TempDir(), "table.json")}
	if b.nc, err = connect(srv.ClientURL(), "", "_INBOX_test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.nc.Close)
	if b.js, err = jetstream.New(b.nc); err != nil {
		t.Fatal(err)
	}
	b.stream()
	if b.kv, err = b.js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: contract.BucketStatus}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *env) stream() {
	b.Helper()
	_, err := b.js.CreateStream(b.Context(), jetstream.StreamConfig{Name: contract.StreamLifecycle, Subjects: []string{contract.LifecyclePrefix + ".>"}})
	if err != nil {
		b.Fatal(err)
	}
}

func named(name string) contract.Object {
	gvk, _ := contract.Lookup(contract.Superset)
	return contract.Object{GroupVersionKind: gvk, Namespace: "team-a", Name: name, UID: "u-" + name}
}

// publish publishes an event of an object.
func (b *env) publish(name string, data contract.Lifecycle) {
	b.Helper()
	b.sent++
	data.Object = named(name)
	subject, err := contract.LifecycleSubject(contract.Ref{Cluster: "local", Namespace: "team-a", Kind: contract.Superset, Name: name}, data.Event)
	if err != nil {
		b.Fatal(err)
	}
	body, err := contract.Encode(contract.Event{
		ID: fmt.Sprintf("u-%s.%d", name, b.sent), Source: contract.Source("local", "test"), Time: time.Unix(1, 0),
	}, data)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := b.js.Publish(b.Context(), subject, body); err != nil {
		b.Fatal(err)
	}
}

func phase(to string) contract.Lifecycle {
	return contract.Lifecycle{Event: contract.EventPhase, Phase: &contract.PhaseChange{To: to}}
}

// entry writes the status entry of an object.
func (b *env) entry(name, phase string) {
	b.Helper()
	raw, err := json.Marshal(contract.StatusEntry{
		Object: named(name), Phase: phase, Conditions: []contract.Condition{{Type: "Available", Status: "True"}},
	})
	if err == nil {
		_, err = b.kv.Put(b.Context(), "local.team-a.superset."+name, raw)
	}
	if err != nil {
		b.Fatal(err)
	}
}

// catchUp runs the program to the end of the stream and returns its table.
func (b *env) catchUp() *table {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), timeout)
	defer cancel()
	var out strings.Builder
	if err := resume(ctx, b.nc, options{cluster: "local", namespace: "team-a", file: b.file, once: true}, &out); err != nil {
		b.Fatal(err)
	}
	if ctx.Err() != nil {
		b.Fatalf("it did not catch up:\n%s", out.String())
	}
	return b.load()
}

func (b *env) load() *table {
	b.Helper()
	t, err := load(b.file)
	if err != nil || t == nil {
		b.Fatalf("no table, %v", err)
	}
	return t
}

func TestResumeReadsEntriesThenEvents(t *testing.T) {
	b := newEnv(t)
	b.publish("main", phase("Initializing")) // older than the entries
	b.entry("main", "Running")
	b.entry("other", "Running")
	if got := b.catchUp(); len(got.Objects) != 2 || got.Objects["team-a/superset/main"].Phase != "Running" || got.Objects["team-a/superset/main"].Events != 0 {
		t.Errorf("began with %+v", got)
	}
	b.publish("main", phase("Degraded"))
	b.publish("main", contract.Lifecycle{
		Event: contract.EventUnavailable, Condition: &contract.ConditionChange{Type: "Available", After: contract.Condition{Status: "False"}},
	})
	b.publish("other", contract.Lifecycle{Event: contract.EventDeleted})
	got := b.catchUp()
	main := got.Objects["team-a/superset/main"]
	if len(got.Objects) != 1 || main.Phase != "Degraded" || main.Conditions["Available"] != "False" || main.Events != 2 {
		t.Errorf("resumed to %+v", got)
	}
}

// The program is stopped at random moments, sometimes before it has saved, while events arrive.
func TestResumeLosesAndRepeatsNothing(t *testing.T) {
	b := newEnv(t)
	names := []string{"a", "b", "c"}
	for _, n := range names {
		b.entry(n, "Running")
	}
	b.catchUp()
	const rounds, each = 15, 40
	for range rounds {
		for i := range each {
			b.publish(names[i%len(names)], phase(fmt.Sprint(b.sent)))
		}
		saved, err := os.ReadFile(b.file)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stop := &stopper{after: 1 + rand.IntN(each), stop: cancel}
		if err := resume(ctx, b.nc, options{cluster: "local", namespace: "*", file: b.file, once: true}, stop); err != nil {
			t.Fatal(err)
		}
		cancel()
		if rand.IntN(2) == 0 { // killed before the table was saved
			if err := os.WriteFile(b.file, saved, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, sum := b.catchUp(), 0
	for _, o := range got.Objects {
		sum += o.Events
	}
	if sum != rounds*each {
		t.Errorf("%d events were counted, want %d", sum, rounds*each)
	}
	if got.Objects["team-a/superset/a"].Phase != fmt.Sprint(rounds*each-1) {
		t.Errorf("a is %+v", got.Objects["team-a/superset/a"])
	}
}

// stopper ends a run after some lines.
type stopper struct {
	after int
	stop  func()
}

func (s *stopper) Write(p []byte) (int, error) {
	if s.after--; s.after == 0 {
		s.stop()
	}
	return len(p), nil
}

func TestResumeReadsEntryAfterGap(t *testing.T) {
	b := newEnv(t)
	b.entry("main", "Initializing")
	b.catchUp()
	b.entry("main", "Running")
	b.publish("main", contract.Lifecycle{Event: contract.EventGap, Gap: true})
	if got := b.catchUp().Objects["team-a/superset/main"]; got.Phase != "Running" || got.Conditions["Available"] != "True" {
		t.Errorf("main is %+v", got)
	}
}

func TestResumeReadsEntriesAfterStreamReset(t *testing.T) {
	b := newEnv(t)
	b.entry("main", "Initializing")
	for range 5 {
		b.publish("main", phase("Running"))
	}
	before := b.catchUp()
	if err := b.js.DeleteStream(t.Context(), contract.StreamLifecycle); err != nil {
		t.Fatal(err)
	}
	b.stream()
	b.entry("main", "Degraded")
	got := b.catchUp()
	if got.Stream.Equal(before.Stream) || got.Sequence != 0 || got.Objects["team-a/superset/main"].Phase != "Degraded" {
		t.Errorf("table %+v, before %+v", got, before)
	}
}

func TestResumeSkipsInvalidMessages(t *testing.T) {
	b := newEnv(t)
	b.catchUp()
	if _, err := b.js.Publish(t.Context(), contract.LifecyclePrefix+".local.team-a.superset.main.phase", []byte("hello")); err != nil {
		t.Fatal(err)
	}
	b.publish("main", phase("Running"))
	if got := b.catchUp(); got.Sequence != 2 || got.Objects["team-a/superset/main"].Phase != "Running" {
		t.Errorf("table %+v", got)
	}
}

func TestResumeRejectsBrokenFile(t *testing.T) {
	b := newEnv(t)
	if err := os.WriteFile(b.file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := resume(t.Context(), b.nc, options{cluster: "local", namespace: "*", file: b.file, once: true}, io.Discard); err == nil {
		t.Error("no error")
	}
}

func TestRunRejectsInvalidArguments(t *testing.T) {
	t.Setenv("NATS_URL", "")
	for name, args := range map[string][]string{
		"no server":       {"--cluster", "c", "--state", "f"},
		"no cluster":      {"--url", "nats://127.0.0.1:1", "--state", "f"},
		"no file":         {"--url", "nats://127.0.0.1:1", "--cluster", "c"},
		"an unknown flag": {"--frobnicate"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(args); err == nil {
				t.Error("no error")
			}
		})
	}
}
