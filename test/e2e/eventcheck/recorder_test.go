package eventcheck

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func object(t *testing.T, status, since string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	text := `{kind: Boat, metadata: {name: b, uid: u}, status: {conditions: [{type: Available, status: "` + status +
		`", lastTransitionTime: "` + since + `"}, {type: Ready, status: "True"}]}}`
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.Object["status"].(map[string]any)["transitions"] = []any{map[string]any{"seq": int64(1), "to": "stable"}}
	return o
}

func TestRecorderRecordsLife(t *testing.T) {
	r := NewRecorder()
	for range 2 {
		r.record(object(t, "False", "2026-11-21T10:00:01Z"), false)
	}
	r.record(object(t, "True", "2026-11-21T10:00:02Z"), false)
	r.end(object(t, "True", "2026-11-21T10:00:02Z"))
	histories, err := r.Histories()
	if err != nil {
		t.Fatal(err)
	}
	l := histories["u"]
	if conditions, phases := l.Changes(); conditions != 2 || phases != 1 || l.Name != "Boat b" || !l.deleted {
		t.Errorf("%+v", l)
	}
	if got := l.last["Available"]; got != (flip{"Available", "True", time.Date(2026, 11, 21, 10, 0, 2, 0, time.UTC)}) {
		t.Errorf("%+v", got)
	}
}

func TestRecorderReportsInvalidTransitionTime(t *testing.T) {
	for name, test := range map[string]struct {
		status, since, want string
		incomplete          bool
	}{
		"an earlier time": {"True", "2026-11-21T10:00:00Z", "after it was False", false},
		"no time":         {"True", "", "cannot parse", false},
	} {
		r := NewRecorder()
		r.record(object(t, "False", "2026-11-21T10:00:01Z"), false)
		r.record(object(t, test.status, test.since), test.incomplete)
		_, err := r.Histories()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecorderKeepsTimeChangeWithoutStatus(t *testing.T) {
	for _, incomplete := range []bool{false, true} { // incomplete: earlier states may have been missed
		r := NewRecorder()
		r.record(object(t, "False", "2026-11-21T10:00:01Z"), false)
		r.record(object(t, "False", "2026-11-21T10:00:05Z"), incomplete)
		histories, err := r.Histories()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(histories["u"].moves); (got == 0) != incomplete {
			t.Errorf("blind %t: %d moves", incomplete, got)
		}
	}
}
