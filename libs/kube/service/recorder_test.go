package service

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// recordingManager is a manager whose recorder keeps the events.
type recordingManager struct {
	ctrl.Manager
	fake *events.FakeRecorder
}

func (m recordingManager) GetEventRecorder(string) recorder.EventRecorder { return m.fake }

// TestEventNotesAreBounded checks the limit of the API server for the note of an event, 1,024 bytes.
func TestEventNotesAreBounded(t *testing.T) {
	fake := events.NewFakeRecorder(1)
	bounded := (&instrumented{Manager: recordingManager{fake: fake}}).GetEventRecorder("controller")
	emit := func(note string, args ...any) string {
		bounded.Eventf(nil, nil, "Warning", "Failed", "Reconcile", note, args...)
		plain := <-fake.Events
		bounded.AnnotatedEventf(nil, nil, nil, "Warning", "Failed", "Reconcile", note, args...)
		if annotated := <-fake.Events; annotated != plain {
			t.Errorf("an event with annotations is %q, without %q", annotated, plain)
		}
		text, found := strings.CutPrefix(plain, "Warning Failed ")
		if !found {
			t.Fatalf("unexpected event %q", plain)
		}
		return text
	}
	for _, text := range []string{"", "100 % of %s", strings.Repeat("a", 1024)} {
		if got := emit("%s", text); got != text {
			t.Errorf("a note within the limit changed to %q", got)
		}
	}
	for _, text := range []string{
		strings.Repeat("a", 1025), strings.Repeat("ü", 700), "a" + strings.Repeat("ü", 700), strings.Repeat("a\xff", 600),
	} {
		got := emit("cause: %s", text)
		if len(got) > 1024 || len(got) < 1020 || !utf8.ValidString(got) ||
			!strings.HasPrefix(got, "cause: ") || !strings.HasSuffix(got, "...") {
			t.Errorf("a note of %d bytes became one of %d: %q", len(text), len(got), got)
		}
	}
}
