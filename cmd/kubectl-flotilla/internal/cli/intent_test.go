package cli

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// intentOf returns the intent of an object: the annotation's value, then spec.suspend if it is set.
func intentOf(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	if err := cluster.Get(t).Client(t, runtime.NewScheme()).Get(t.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		t.Fatal(err)
	}
	text := u.GetAnnotations()["operator-command"]
	if suspend, set, err := unstructured.NestedBool(u.Object, "spec", "suspend"); err == nil && set {
		text += fmt.Sprintf(" suspend=%t", suspend)
	}
	return text
}

func TestIntentsMatchOperatorAnnotations(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	s := newShell(t, ns)
	for _, step := range []struct{ command, message, note, intent string }{
		{"resume", "is not paused", "", ""},
		{"pause --dry-run=client", "paused (dry run)", "", ""},
		{"pause --dry-run=server", "paused (server dry run)", "", ""},
		{"pause", "paused", "", "Paused"},
		{"pause", "is already paused by annotation operator-command", "", "Paused"},
		{"start", "is not stopped", "it is paused by annotation operator-command", "Paused"},
		{"resume", "resumed", "", ""},
		{"stop", "stopped", "", "Stopped"},
		{"stop", "is already stopped", "", "Stopped"},
		{"resume", "is not paused", "it is stopped by annotation operator-command", "Stopped"},
		{"pause", "paused", "spec.suspend is set, since the annotation is in use", "Stopped suspend=true"},
		{"start --dry-run=client", "started", "it starts only once it is resumed", "Stopped suspend=true"},
		{"resume", "resumed", "it is stopped by", "Stopped"},
		{"start", "started", "", ""},
	} {
		verb, flags, _ := strings.Cut(step.command, " ")
		out := s.run(append([]string{verb, "superset/main"}, strings.Fields(flags)...)...)
		if !strings.HasPrefix(out, "superset/main "+step.message) || !strings.Contains(s.err.String(), step.note) || (step.note == "") != (s.err.String() == "") {
			t.Errorf("%s: got %q and %q, want %q and %q", step.command, out, s.err, step.message, step.note)
		}
		if got := intentOf(t, sup); got != step.intent {
			t.Fatalf("%s: got intent %q, want %q", step.command, got, step.intent)
		}
	}
}

func TestIntentKeepsOtherIntent(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	objects := create(t, ns, "fleet.yaml")
	s := newShell(t, ns)
	s.fail("a stop would remove the pause", "stop", "fireng/shop", "superset/main") // the engine is paused
	if got := intentOf(t, objects[3]); got != "Paused" {
		t.Errorf("got intent %q of the engine, want Paused", got)
	}
	if got := intentOf(t, objects[0]); got != "Stopped" {
		t.Errorf("got intent %q of the other resource, want Stopped", got)
	}
	s.run("resume", "fireng/shop")
	s.run("stop", "fireng/shop")
	s.fail("a pause would remove the stop", "pause", "fireng/shop")
	s.fail("not found in namespace", "pause", "superset/none")
}

func TestPauseWaitsForOperator(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	checks := make(chan string, 16)
	s := newShell(t, ns)
	s.app = func(a *App) { a.Checked = func(missing string) { checks <- missing } }
	done := s.background(t.Context(), "pause", "superset/main", "--wait")
	if missing := <-checks; !strings.Contains(missing, "condition Paused is False") {
		t.Errorf("the first check returned %q", missing)
	}
	patchStatus(t, sup, map[string]any{"status": map[string]any{"conditions": []any{condition("Paused", "True", "ReconciliationPaused", 1)}}})
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.fail("no condition Stopped=True within 10ms", "stop", "fire/shop", "--wait", "--timeout=10ms")
}

func TestPauseByConcurrentWriters(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	sup := create(t, ns, "fleet.yaml")[0]
	var all []<-chan error
	for range 4 {
		all = append(all, newShell(t, ns).background(t.Context(), "pause", "superset/main"))
	}
	for _, done := range all {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	expect.Eventually(t, expect.Long, func() error {
		if got := intentOf(t, sup); got != "Paused" {
			return fmt.Errorf("got intent %q, want Paused", got)
		}
		return nil
	})
}

// TestPauseAndStopConflict runs both commands concurrently: the second one reads the write of the first one and is rejected.
func TestPauseAndStopConflict(t *testing.T) {
	ns := cluster.Get(t).Namespace(t)
	engine := create(t, ns, "fleet.yaml")[3]
	pause, stop := newShell(t, ns), newShell(t, ns)
	for round := range 10 {
		pause.run("resume", "fireng/shop")
		pause.run("start", "fireng/shop")
		first, second := pause.background(t.Context(), "pause", "fireng/shop"), stop.background(t.Context(), "stop", "fireng/shop")
		paused, stopped := <-first, <-second
		if (paused == nil) == (stopped == nil) {
			t.Fatalf("round %d: pause ended with %v, stop with %v", round, paused, stopped)
		}
		want := "Paused"
		if stopped == nil {
			want = "Stopped"
		}
		if got := intentOf(t, engine); got != want {
			t.Fatalf("round %d: got intent %q, want %q", round, got, want)
		}
	}
}
