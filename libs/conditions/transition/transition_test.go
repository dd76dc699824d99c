package transition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 123456789, time.UTC)

func TestAppend(t *testing.T) {
	second := metav1.NewTime(now.Truncate(time.Second))
	tests := map[string]struct {
		entries []transition.Entry
		to      string
		want    []transition.Entry
	}{
		"the first entry": {nil, "Initializing", []transition.Entry{{Seq: 1, Time: second, To: "Initializing", Reason: "r", Message: "m"}}},
		"the next entry": {
			[]transition.Entry{{Seq: 7, To: "Initializing"}},
			"Running",
			[]transition.Entry{{Seq: 7, To: "Initializing"}, {Seq: 8, Time: second, From: "Initializing", To: "Running", Reason: "r", Message: "m"}},
		},
		"no change": {[]transition.Entry{{Seq: 7, To: "Running"}}, "Running", []transition.Entry{{Seq: 7, To: "Running"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, transition.Append(tc.entries, tc.to, "r", "m", now)); diff != "" {
				t.Errorf("ring (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAppendKeepsLatestEntriesAndUniqueNumbers(t *testing.T) {
	var entries []transition.Entry
	for i := range 100 {
		before := append([]transition.Entry{}, entries...)
		next := transition.Append(entries, fmt.Sprint(i), "", "", now)
		if diff := cmp.Diff(before, append([]transition.Entry{}, entries...)); diff != "" {
			t.Fatalf("the given ring was changed:\n%s", diff)
		}
		entries = next
	}
	if len(entries) != transition.Keep {
		t.Fatalf("%d entries, want %d", len(entries), transition.Keep)
	}
	for i, e := range entries {
		if want := int64(100 - transition.Keep + i + 1); e.Seq != want {
			t.Errorf("entry %d has seq %d, want %d", i, e.Seq, want)
		}
	}
}

func TestAppendSanitizesMessage(t *testing.T) {
	for name, message := range map[string]string{
		"long":               strings.Repeat("x", 5000),
		"long and multibyte": strings.Repeat("ä", 5000),
		"not UTF-8":          "a\xffb",
	} {
		t.Run(name, func(t *testing.T) {
			got := transition.Append(nil, "Running", "", message, now)[0].Message
			if len(got) > transition.MaxMessageBytes || strings.ToValidUTF8(got, "") != got {
				t.Errorf("message of %d bytes: %q", len(got), got[:20])
			}
		})
	}
}

func TestEntryJSONRoundTrip(t *testing.T) {
	want := transition.Append(nil, "Running", "AllComponentsReady", "fine", now)
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got []transition.Entry
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("through JSON (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&want[0], want[0].DeepCopy()); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	var none *transition.Entry
	if none.DeepCopy() != nil {
		t.Error("the copy of nothing is something")
	}
}

func ExampleAppend() {
	var entries []transition.Entry
	entries = transition.Append(entries, "Initializing", "TasksPending", "Waiting for migrate", now)
	entries = transition.Append(entries, "Running", "AllComponentsReady", "All components are ready", now.Add(time.Minute))
	for _, e := range entries {
		fmt.Printf("%d %q -> %q\n", e.Seq, e.From, e.To)
	}
	// Output:
	// 1 "" -> "Initializing"
	// 2 "Initializing" -> "Running"
}
