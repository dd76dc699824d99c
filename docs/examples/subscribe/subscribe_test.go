package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const timeout = 2 * time.Minute

// output can be read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// wait returns once all lines have been printed.
func (o *output) wait(t *testing.T, lines ...string) {
	t.Helper()
	deadline := time.After(timeout)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		missing := ""
		for _, l := range lines {
			if !strings.Contains(o.String(), l+"\n") {
				missing = l
			}
		}
		if missing == "" {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("no line %q in:\n%s", missing, o.String())
		case <-tick.C:
		}
	}
}

func natsServer(t *testing.T) string {
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
	return srv.ClientURL()
}

// env is a server with the stream of lifecycle events.
type env struct {
	url string
	js  jetstream.JetStream
}

func newEnv(t *testing.T) env {
	t.Helper()
	b := env{url: natsServer(t)}
	nc, err := connect(b.url, "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	if b.js, err = jetstream.New(nc); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b env) createStream(t *testing.T) {
	t.Helper()
	_, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: contract.StreamLifecycle, Subjects: []string{contract.LifecyclePrefix + ".>"}})
	if err != nil {
		t.Fatal(err)
	}
}

func (b env) publish(t *testing.T, name string, data contract.Lifecycle) {
	t.Helper()
	subject, err := contract.LifecycleSubject(contract.Ref{Cluster: "local", Namespace: "default", Kind: contract.Superset, Name: name}, data.Event)
	if err != nil {
		t.Fatal(err)
	}
	data.Object = contract.Object{GroupVersionKind: contract.GroupVersionKind{Kind: "Superset"}, Namespace: "default", Name: name}
	message, err := contract.Encode(contract.Event{
		ID: fmt.Sprintf("%s.%s", name, data.Event), Source: contract.Source("local", "status-aggregator"),
		Time: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC),
	}, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.js.Publish(t.Context(), subject, message); err != nil {
		t.Fatal(err)
	}
}

// start subscribes until the test ends.
func (b env) start(t *testing.T, o options) *output {
	t.Helper()
	nc, err := connect(b.url, "", "_INBOX_reader")
	if err != nil {
		t.Fatal(err)
	}
	out := &output{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- subscribe(ctx, nc, o, out) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		nc.Close()
	})
	return out
}

var degraded = contract.Lifecycle{
	Event: contract.EventDegraded,
	Condition: &contract.ConditionChange{
		Type: "Degraded", After: contract.Condition{Type: "Degraded", Status: "True", Reason: "CrashLoop", Message: "web crashes."},
	},
}

var phase = contract.Lifecycle{
	Event: contract.EventPhase, Phase: &contract.PhaseChange{Seq: 2, From: "Initializing", To: "Running", Reason: "Ready"},
}

func TestSubscribePrintsEvents(t *testing.T) {
	b := newEnv(t)
	b.createStream(t)
	b.publish(t, "main", degraded)
	b.publish(t, "main", phase)
	b.publish(t, "other", degraded)
	all := b.start(t, options{subject: contract.LifecyclePrefix + ".>", since: time.Hour})
	all.wait(t,
		"2026-11-21T10:00:00Z Superset default/main degraded Degraded=True CrashLoop: web crashes.",
		"2026-11-21T10:00:00Z Superset default/main phase Initializing -> Running Ready",
		"2026-11-21T10:00:00Z Superset default/other degraded Degraded=True CrashLoop: web crashes.",
	)
	some := b.start(t, options{subject: contract.LifecyclePrefix + ".*.*.*.other.>", since: time.Hour})
	some.wait(t, "2026-11-21T10:00:00Z Superset default/other degraded Degraded=True CrashLoop: web crashes.")
	if strings.Contains(some.String(), "default/main") {
		t.Errorf("events that the filter must exclude:\n%s", some)
	}
}

func TestSubscribePrintsOnlyNewEvents(t *testing.T) {
	b := newEnv(t)
	b.createStream(t)
	b.publish(t, "main", degraded)
	out := b.start(t, options{subject: contract.LifecyclePrefix + ".>"})
	for consumers := 0; consumers == 0; {
		stream, err := b.js.Stream(t.Context(), contract.StreamLifecycle)
		if err != nil {
			t.Fatal(err)
		}
		consumers = stream.CachedInfo().State.Consumers
	}
	b.publish(t, "main", phase)
	out.wait(t, "2026-11-21T10:00:00Z Superset default/main phase Initializing -> Running Ready")
	if strings.Contains(out.String(), "degraded") {
		t.Errorf("an old event was printed:\n%s", out)
	}
}

func TestSubscribeWaitsForStream(t *testing.T) {
	b := newEnv(t)
	out := b.start(t, options{subject: contract.LifecyclePrefix + ".>", since: time.Hour})
	out.wait(t, "# waiting for FLOTILLA_LIFECYCLE: nats: API error: code=404 err_code=10059 description=stream not found")
	b.createStream(t)
	b.publish(t, "main", phase)
	out.wait(t, "2026-11-21T10:00:00Z Superset default/main phase Initializing -> Running Ready")
}

func TestLine(t *testing.T) {
	encode := func(data contract.Change) []byte {
		message, err := contract.Encode(contract.Event{ID: "a", Source: "s", Time: time.Unix(0, 0)}, data)
		if err != nil {
			t.Fatal(err)
		}
		return message
	}
	tests := map[string]struct {
		message []byte
		want    string
	}{
		"a change": {
			encode(contract.Change{Object: contract.Object{GroupVersionKind: contract.GroupVersionKind{Kind: "Model"}, Namespace: "n", Name: "m"}, Operation: contract.ChangeCreated}),
			"1970-01-01T00:00:00Z Model n/m created",
		},
		"a later major": {
			[]byte(`{"specversion":"1.0","id":"a","source":"s","type":"dev.flotilla.lifecycle.v2","data":{}}`),
			`# unsupported event type: "dev.flotilla.lifecycle.v2", want "dev.flotilla.change.v1"`,
		},
		"no event": {[]byte("hello"), "# malformed event: invalid character 'h' looking for beginning of value"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := line(tc.message); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestRunRejectsInvalidArguments(t *testing.T) {
	t.Setenv("NATS_URL", "")
	for name, args := range map[string][]string{
		"no server":         {},
		"another subject":   {"--url", "nats://127.0.0.1:1", "--subject", "orders.>"},
		"an unknown flag":   {"--frobnicate"},
		"a broken duration": {"--since", "yesterday"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(args); err == nil {
				t.Error("no error")
			}
		})
	}
}
