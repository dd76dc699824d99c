package bootstrap

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/pflag"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

var names = busauth.Names{Cluster: "prod", Namespace: "team-a", Tool: "pager"}

// command runs "bus" with the arguments and the given identity.
func command(ctx context.Context, t *testing.T, url string, args ...string) (string, error) {
	t.Helper()
	f := &flags{}
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.add(fs)
	fs.SetOutput(io.Discard)
	if err := fs.Parse(args); err != nil {
		return "", err
	}
	var out bytes.Buffer
	err := f.run(ctx, service.Options{NATSURL: url}, fs.Args(), &out)
	return out.String(), err
}

// fixture is an empty bus under the permissions of deploy/nats.
type fixture struct {
	*testing.T
	*busauth.Server
	admin jetstream.JetStream
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	f := fixture{T: t, Server: busauth.Start(t, names)}
	f.admin = f.client(busauth.Admin)
	return f
}

func (f fixture) client(identity string) jetstream.JetStream {
	f.Helper()
	nc, err := nats.Connect(f.As(identity), nats.CustomInboxPrefix("_INBOX_"+identity))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		f.Fatal(err)
	}
	return js
}

// bus runs the command with its own identity, and expects success.
func (f fixture) bus(args ...string) string {
	f.Helper()
	out, err := command(f.Context(), f.T, f.As("bootstrap"), args...)
	if err != nil {
		f.Fatalf("bus %v: %v\n%s", args, err, out)
	}
	return out
}

func (f fixture) config(stream string) jetstream.StreamConfig {
	f.Helper()
	s, err := f.admin.Stream(f.Context(), stream)
	if err != nil {
		f.Fatal(err)
	}
	return s.CachedInfo().Config
}

func (f fixture) change(stream string, change func(*jetstream.StreamConfig)) {
	f.Helper()
	cfg := f.config(stream)
	change(&cfg)
	if _, err := f.admin.UpdateStream(f.Context(), cfg); err != nil {
		f.Fatal(err)
	}
}

func want(t *testing.T, got string, lines ...string) {
	t.Helper()
	if want := strings.Join(lines, "\n") + "\n"; got != want {
		t.Errorf("printed\n%swant\n%s", got, want)
	}
}

func forEachStream(what string) []string {
	return []string{
		"FLOTILLA_OBS: " + what, "FLOTILLA_HB: " + what, "FLOTILLA_LIFECYCLE: " + what,
		"FLOTILLA_CHANGES: " + what, "FLOTILLA_DLQ: " + what,
	}
}

func TestBootstrapCreatesStreams(t *testing.T) {
	f := newFixture(t)
	want(t, f.bus("bootstrap", "--dry-run"), append(forEachStream("would be created"), "FLOTILLA_STATUS: would be created")...)
	if names := f.streams(); len(names) != 0 {
		t.Errorf("a dry run created %v", names)
	}
	if out, err := command(t.Context(), t, f.As("bootstrap"), "verify"); !errors.Is(err, errDiffers) || strings.Count(out, "exists is false, want true") != 6 {
		t.Errorf("verify returned %v:\n%s", err, out)
	}
	want(t, f.bus("bootstrap"), append(forEachStream("created"), "FLOTILLA_STATUS: created")...)
	want(t, f.bus("bootstrap"), append(forEachStream("up to date"), "FLOTILLA_STATUS: up to date")...)
	want(t, f.bus("verify"), "The bus is up to date.")
	f.WantNoViolations(t)
}

func (f fixture) streams() []string {
	f.Helper()
	var out []string
	list := f.admin.StreamNames(f.Context())
	for name := range list.Name() {
		out = append(out, name)
	}
	if err := list.Err(); err != nil {
		f.Fatal(err)
	}
	return out
}

func TestBootstrapChangesOnlyGivenSettings(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap", "--lifecycle-max-bytes=2Gi", "--changes-max-age=24h")
	if _, err := f.admin.Publish(t.Context(), contract.LifecyclePrefix+".prod.team-a.superset.main.phase", nil); err != nil {
		t.Fatal(err)
	}
	out := f.bus("bootstrap", "--status-max-bytes=512Mi")
	for _, line := range []string{
		"FLOTILLA_STATUS: max_bytes changed from 268435456 to 536870912\n", "FLOTILLA_LIFECYCLE: up to date\n", "FLOTILLA_CHANGES: up to date\n",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	if got := f.config(contract.StreamLifecycle).MaxBytes; got != 2<<30 {
		t.Errorf("the history may have %d bytes, want 2Gi", got)
	}
	if got := f.config(contract.StreamChanges).MaxAge; got != 24*time.Hour {
		t.Errorf("changes are kept %s, want 24h", got)
	}

	// verify names a changed setting, and bootstrap reverts it.
	f.change(contract.StreamObservations, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 7 })
	const drift = "FLOTILLA_OBS: max_msgs_per_subject is 7, want 1\n"
	if out, err := command(t.Context(), t, f.As("bootstrap"), "verify"); !errors.Is(err, errDiffers) || out != drift {
		t.Errorf("verify returned %v: %q", err, out)
	}
	if out := f.bus("bootstrap"); !strings.Contains(out, "FLOTILLA_OBS: max_msgs_per_subject changed from 7 to 1\n") {
		t.Errorf("got output\n%s", out)
	}
	if out, err := command(t.Context(), t, f.As("bootstrap"), "verify", "--lifecycle-max-age=24h"); !errors.Is(err, errDiffers) {
		t.Errorf("verify with an age returned %v: %q", err, out)
	}
	stream, err := f.admin.Stream(t.Context(), contract.StreamLifecycle)
	if err != nil || stream.CachedInfo().State.Msgs != 1 {
		t.Errorf("the history was touched: %v", err)
	}
	f.WantNoViolations(t)
}

func TestDenyPurgeProtectsStreams(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap", "--deny-purge")
	f.bus("bootstrap", "--lifecycle-max-age=48h") // stays in production
	for _, name := range []string{contract.StreamLifecycle, contract.StreamChanges} {
		stream, err := f.admin.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Purge(t.Context()); err == nil {
			t.Errorf("%s was purged", name)
		}
	}
	f.bus("verify", "--deny-purge")
}

func TestConsumerIsReadableByTool(t *testing.T) {
	f := newFixture(t)
	f.bus("bootstrap")
	subject := contract.LifecyclePrefix + ".prod.team-a.superset.main.phase"
	if _, err := f.admin.Publish(t.Context(), subject, []byte("a")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		want(t, f.bus("consumer", "pager", "--filter=flotilla.lifecycle.v1.prod.team-a.>", "--deliver=all"),
			"FLOTILLA_LIFECYCLE: consumer pager reads flotilla.lifecycle.v1.prod.team-a.>")
	}
	c, err := f.client("pager").Consumer(t.Context(), contract.StreamLifecycle, "pager")
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Next()
	if err != nil || string(m.Data()) != "a" {
		t.Errorf("read %v, %v", m, err)
	}
	f.WantNoViolations(t)
}

func TestCommandRejectsInvalidArguments(t *testing.T) {
	for line, want := range map[string]string{
		"":                                  "want a subcommand",
		"frobnicate":                        "bus frobnicate is not known",
		"verify now":                        `unexpected argument "now"`,
		"bootstrap --replicas=2":            "--replicas must be 1, 3 or 5, is 2",
		"bootstrap --lifecycle-max-age=1s":  "--lifecycle-max-age must be at least a minute, is 1s",
		"bootstrap --status-max-bytes=3":    "--status-max-bytes must be at least 1Mi, is 3",
		"bootstrap --status-max-bytes=many": "quantities must match",
		"consumer":                          "want one argument",
		"consumer a b":                      "want one argument",
		"consumer a.b --filter=x":           `consumer name "a.b" is not a DNS label`,
		"consumer a --filter=orders.>":      `--filter "orders.>" is neither below`,
		"consumer a":                        `--filter "" is neither below`,
		"consumer a --filter=" + allEvents + " --deliver=some": `--deliver must be all or new, is "some"`,
		"consumer a --filter=" + allEvents + " --ack-wait=0s":  "must be positive",
	} {
		t.Run(line, func(t *testing.T) {
			_, err := command(t.Context(), t, "nats://127.0.0.1:1", strings.Fields(line)...)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error is %v, want %q in it", err, want)
			}
		})
	}
}

const allEvents = contract.LifecyclePrefix + ".>"

// A rejected request gets no response: the reason arrives separately and must be reported.
func TestBootstrapNamesMissingPermission(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := command(ctx, t, f.As("ingester"), "bootstrap")
	if err == nil || !strings.Contains(err.Error(), "ermissions") {
		t.Errorf("error is %v", err)
	}
}

func TestVerifyReportsUnreachableBus(t *testing.T) {
	f := newFixture(t)
	for name, url := range map[string]string{"no server": "nats://127.0.0.1:1", "wrong password": strings.Replace(f.As("bootstrap"), ":secret@", ":wrong@", 1)} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := command(ctx, t, url, "verify")
			if err == nil || !strings.Contains(err.Error(), "connect to the bus") {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// A single server cannot hold three copies: the error has the reason, and nothing is created.
func TestBootstrapReportsServerError(t *testing.T) {
	f := newFixture(t)
	_, err := command(t.Context(), t, f.As("bootstrap"), "bootstrap", "--replicas=3")
	if err == nil || !strings.Contains(err.Error(), `create stream "FLOTILLA_OBS"`) || !strings.Contains(err.Error(), "replicas") {
		t.Errorf("error is %v", err)
	}
	if names := f.streams(); len(names) != 0 {
		t.Errorf("it made %v", names)
	}
}
