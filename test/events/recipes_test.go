package events

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// recipe is a line of a code block in README.md whose info string names the identity.
type recipe struct{ identity, line string }

var fence = regexp.MustCompile("^```sh as=([a-z]+)$")

// recipes reads the commands of README.md. A backslash joins lines; comments are removed.
func recipes(t *testing.T) []recipe {
	t.Helper()
	file, err := os.Open(pages + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out []recipe
	identity, line := "", ""
	for lines := bufio.NewScanner(file); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if m := fence.FindStringSubmatch(text); m != nil {
			identity = m[1]
			continue
		}
		if identity == "" || text == "" {
			continue
		}
		if text == "```" {
			identity = ""
			continue
		}
		command, _, _ := strings.Cut(text, " #")
		command, continues := strings.CutSuffix(command, "\\")
		line = strings.TrimSpace(line + " " + strings.TrimSpace(command))
		if !continues {
			out = append(out, recipe{identity, strings.Join(strings.Fields(line), " ")})
			line = ""
		}
	}
	return out
}

// recipeEnv is a bus with three events and two status entries.
type recipeEnv struct{ guarded }

func newRecipeEnv(t *testing.T) recipeEnv {
	t.Helper()
	k := recipeEnv{newGuarded(t)}
	makeConsumer(t, k.admin, contract.StreamLifecycle, "pager", "flotilla.lifecycle.v1.prod.team-a.>")
	k.happens("team-a", "phase")
	k.happens("team-b", "degraded")
	k.happens("team-a", "degraded")
	k.observed("first")
	k.observed("second")
	k.entry("one")
	k.entry("two")
	return k
}

func (k recipeEnv) publish(subject, body string) {
	k.Helper()
	if _, err := k.admin.Publish(k.Context(), subject, []byte(body)); err != nil {
		k.Fatal(err)
	}
}

// happens publishes an event. Its body contains its name.
func (k recipeEnv) happens(namespace, event string) {
	k.publish("flotilla.lifecycle.v1.prod."+namespace+".superset.main."+event, namespace+" "+event)
}

func (k recipeEnv) observed(what string) {
	k.publish("flotilla.obs.v1.prod.team-a.superset.main.superset-operator", what)
}

func (k recipeEnv) entry(what string) {
	k.publish("$KV.FLOTILLA_STATUS.prod.team-a.superset.main", what)
}

// handlers maps each recipe to the client library calls of the nats CLI, since the CLI cannot be
// built as a Go module everywhere. The identity of the recipe makes the calls.
func handlers() map[recipe]func(recipeEnv) []string {
	return map[recipe]func(recipeEnv) []string{
		{"reader", "nats sub 'flotilla.lifecycle.v1.prod.team-a.>'"}: func(k recipeEnv) []string {
			return k.live("reader", "flotilla.lifecycle.v1.prod.team-a.>")
		},
		{"reader", "nats sub --since 1h 'flotilla.lifecycle.v1.prod.*.*.*.degraded'"}: func(k recipeEnv) []string {
			return k.replay("flotilla.lifecycle.v1.prod.*.*.*.degraded", 2, nats.StartTime(time.Now().Add(-time.Hour)))
		},
		{"reader", "nats sub --start-sequence 2 'flotilla.lifecycle.v1.prod.>'"}: func(k recipeEnv) []string {
			return k.replay("flotilla.lifecycle.v1.prod.>", 2, nats.StartSequence(2))
		},
		{"reader", "nats sub --last-per-subject 'flotilla.obs.v1.prod.>'"}: func(k recipeEnv) []string {
			return k.replay("flotilla.obs.v1.prod.>", 1, nats.DeliverLastPerSubject())
		},
		{"reader", "nats kv get FLOTILLA_STATUS prod.team-a.superset.main --raw"}: func(k recipeEnv) []string {
			e, err := k.bucket().Get(k.Context(), "prod.team-a.superset.main")
			return k.value(e, err)
		},
		{"reader", "nats kv watch FLOTILLA_STATUS 'prod.team-a.>'"}: func(k recipeEnv) []string {
			w, err := k.bucket().Watch(k.Context(), "prod.team-a.>")
			if err != nil {
				k.Fatal(err)
			}
			defer w.Stop()
			return k.value(<-w.Updates(), nil)
		},
		{"reader", "nats kv history FLOTILLA_STATUS prod.team-a.superset.main"}: func(k recipeEnv) []string {
			all, err := k.bucket().History(k.Context(), "prod.team-a.superset.main")
			var out []string
			for _, e := range all {
				out = append(out, k.value(e, err)...)
			}
			return out
		},
		{"reader", "nats consumer add FLOTILLA_LIFECYCLE audit --pull --filter 'flotilla.lifecycle.v1.prod.>' --defaults " +
			"--deliver all --ack explicit --wait 30s --max-deliver=-1 --max-pending 100 --replay instant"}: func(k recipeEnv) []string {
			_, err := k.plain("reader").CreateConsumer(k.Context(), contract.StreamLifecycle, jetstream.ConsumerConfig{
				Durable: "audit", FilterSubject: "flotilla.lifecycle.v1.prod.>", DeliverPolicy: jetstream.DeliverAllPolicy,
				AckPolicy: jetstream.AckExplicitPolicy, AckWait: 30 * time.Second, MaxDeliver: -1, MaxAckPending: 100,
			})
			if err != nil {
				k.Fatal(err)
			}
			return k.next("reader", "audit", 3)
		},
		{"pager", "nats sub 'flotilla.lifecycle.v1.prod.team-a.>'"}: func(k recipeEnv) []string {
			return k.live("pager", "flotilla.lifecycle.v1.prod.team-a.>")
		},
		{"pager", "nats consumer next FLOTILLA_LIFECYCLE pager --count 2"}: func(k recipeEnv) []string {
			got := k.next("pager", "pager", 2)
			info, err := k.consumerOf("pager", "pager").Info(k.Context())
			if err != nil || info.NumAckPending > 0 || info.NumPending > 0 {
				k.Errorf("unexpected state of the consumer: %+v, %v", info, err)
			}
			return got
		},
		{"pager", "nats req --raw '$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.prod.team-a.superset.main' ''"}: func(k recipeEnv) []string {
			return []string{k.guarded.entry(k.plain("pager").Conn(), "team-a")}
		},
	}
}

// served maps each recipe to its expected output.
var served = map[string][]string{
	"nats sub 'flotilla.lifecycle.v1.prod.team-a.>'":                      {"team-a recovered"},
	"nats sub --since 1h 'flotilla.lifecycle.v1.prod.*.*.*.degraded'":     {"team-b degraded", "team-a degraded"},
	"nats sub --start-sequence 2 'flotilla.lifecycle.v1.prod.>'":          {"team-b degraded", "team-a degraded"},
	"nats sub --last-per-subject 'flotilla.obs.v1.prod.>'":                {"second"},
	"nats kv get FLOTILLA_STATUS prod.team-a.superset.main --raw":         {"two"},
	"nats kv watch FLOTILLA_STATUS 'prod.team-a.>'":                       {"two"},
	"nats kv history FLOTILLA_STATUS prod.team-a.superset.main":           {"one", "two"},
	"nats consumer next FLOTILLA_LIFECYCLE pager --count 2":               {"team-a phase", "team-a degraded"},
	"nats consumer add FLOTILLA_LIFECYCLE audit --pull --filter":          {"team-a phase", "team-b degraded", "team-a degraded"},
	"nats req --raw '$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_": {"two"},
}

func TestRecipes(t *testing.T) {
	known := handlers()
	all := recipes(t)
	if len(all) != len(known) {
		t.Errorf("README.md has %d recipes, the test %d", len(all), len(known))
	}
	for _, r := range all {
		t.Run(fmt.Sprintf("%s runs %s", r.identity, r.line), func(t *testing.T) {
			handler, ok := known[r]
			if !ok {
				t.Fatal("the test does not have this recipe")
			}
			k := newRecipeEnv(t)
			got := handler(k)
			if diff := cmp.Diff(expected(t, r.line), got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			k.WantNoViolations(t)
		})
	}
}

func expected(t *testing.T, line string) []string {
	t.Helper()
	for start, lines := range served {
		if strings.HasPrefix(line, start) {
			return lines
		}
	}
	t.Fatalf("no expected output for %q", line)
	return nil
}

// In addition to the recipes, the reader runs the Go examples and reads single messages.
func TestReaderHasLeastPrivilege(t *testing.T) {
	k := newRecipeEnv(t)
	k.publish("flotilla.change.v1.prod.team-a.model.main.created", "created")
	tap := k.Tap(t)
	for r, handler := range handlers() {
		if r.identity == "reader" {
			handler(k)
		}
	}
	js := k.plain("reader")
	for stream, filter := range map[string]string{
		contract.StreamLifecycle: "flotilla.lifecycle.v1.prod.>", contract.StreamChanges: "flotilla.change.v1.prod.>",
		contract.StreamObservations: "flotilla.obs.v1.prod.>",
	} {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.GetLastMsgForSubject(t.Context(), filter); err != nil {
			t.Error(err)
		}
		c, err := s.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{FilterSubjects: []string{filter}})
		if err != nil {
			t.Fatal(err)
		}
		messages, err := c.Messages()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := messages.Next(); err != nil {
			t.Error(err)
		}
		messages.Stop()
		if _, err := c.Info(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.DeleteConsumer(t.Context(), c.CachedInfo().Name); err != nil {
			t.Error(err)
		}
	}
	changes, err := js.CreateConsumer(t.Context(), contract.StreamChanges, jetstream.ConsumerConfig{
		Durable: "audit", FilterSubject: "flotilla.change.v1.prod.>", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := changes.Next(); err != nil || m.DoubleAck(t.Context()) != nil {
		t.Errorf("change %v, %v", m, err)
	}
	k.WantNoViolations(t)
	unused := tap.Unused(t, "reader")
	// The server of this test uses the older format of acknowledgements, and no flow control is required.
	want := []string{"$JS.ACK.*.*.FLOTILLA_LIFECYCLE.>", "$JS.ACK.*.*.FLOTILLA_CHANGES.>", "$JS.FC.>"}
	if diff := cmp.Diff(want, unused); diff != "" {
		t.Errorf("unused permissions (-want +got):\n%s", diff)
	}
}
