package timeline

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var testObject = Object{GVK: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Boat"}, Namespace: "n", Name: "b"}

func state(phase string, conditions ...[3]string) *unstructured.Unstructured {
	var list []any
	for _, c := range conditions {
		list = append(list, map[string]any{"type": c[0], "status": c[1], "reason": c[2]})
	}
	return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": phase, "conditions": list}}}
}

func TestRecorderRecordsOnlyChanges(t *testing.T) {
	now := time.Unix(0, 0)
	r := NewRecorder(func() time.Time { now = now.Add(time.Second); return now })
	r.Record(testObject, state("creating", [3]string{"Available", "False", "Initializing"}, [3]string{"Ready", "False", "X"}))
	r.Record(testObject, state("creating", [3]string{"Available", "False", "Initializing"}))
	r.Record(testObject, state("stable", [3]string{"Available", "True", "AllComponentsReady"}, [3]string{"Degraded", "False", "Healthy"}))
	r.RecordDeleted(testObject)
	r.RecordDeleted(testObject)
	tracks := Tracks(r.Changes())
	if len(tracks) != 3 || tracks[0].Type != Phase || tracks[1].Type != "Available" || tracks[2].Type != "Degraded" {
		t.Fatalf("%+v", tracks)
	}
	for i, want := range [][]string{{"creating", "stable", ""}, {"False", "True", ""}, {"False", ""}} {
		if len(tracks[i].Changes) != len(want) {
			t.Fatalf("%s: %+v", tracks[i].Type, tracks[i].Changes)
		}
		for j, status := range want {
			if tracks[i].Changes[j].Status != status {
				t.Errorf("%s: %+v", tracks[i].Type, tracks[i].Changes)
			}
		}
	}
	if !tracks[1].Changes[0].IsFailure() || tracks[1].Changes[1].IsFailure() || tracks[2].Changes[0].IsFailure() {
		t.Error("Bad reports the wrong changes")
	}
}

func TestRecorderAcceptsMalformedStatus(t *testing.T) {
	r := NewRecorder(time.Now)
	for _, status := range []any{nil, "text", map[string]any{"conditions": "none"}, map[string]any{"conditions": []any{int64(1), map[string]any{"type": int64(2)}}, "phase": int64(3)}} {
		r.Record(testObject, &unstructured.Unstructured{Object: map[string]any{"status": status}})
	}
	if got := r.Changes(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
