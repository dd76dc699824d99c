package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

func kind(t *testing.T) registry.Kind {
	t.Helper()
	kinds, err := registry.Managed()
	if err != nil {
		t.Fatal(err)
	}
	k, _ := kinds.Lookup(contract.Superset)
	return k
}

// fullObject returns an object in the form of the API server.
func fullObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "superset.apache.org/v1alpha1", "kind": "Superset",
		"metadata": map[string]any{
			"name": "main", "namespace": "team-a", "uid": "u", "resourceVersion": "7", "generation": int64(3),
			"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"},
			"managedFields": []any{map[string]any{"manager": "superset-operator", "subresource": "status"}},
		},
		"spec": map[string]any{"secretKey": "must not be kept"},
		"status": map[string]any{
			"phase": "Running", "version": "6.0.0",
			"conditions": []any{map[string]any{
				"type": "Available", "status": "True", "reason": "R", "message": "m",
				"lastTransitionTime": "2026-01-02T03:04:05Z",
			}},
			"transitions": []any{map[string]any{"seq": int64(4), "time": "2026-01-02T03:04:05Z", "to": "Running"}},
		},
	}}
}

func TestTrimKeepsReadFields(t *testing.T) {
	got, err := Trim(fullObject())
	if err != nil {
		t.Fatal(err)
	}
	want := fullObject()
	delete(want.Object, "spec")
	unstructured.RemoveNestedField(want.Object, "status", "version")
	unstructured.RemoveNestedField(want.Object, "metadata", "labels")
	unstructured.RemoveNestedField(want.Object, "metadata", "annotations")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed (-want +got):\n%s", diff)
	}
}

func TestTrim(t *testing.T) {
	cases := map[string]struct{ in, want any }{
		"an object without a status": {
			&unstructured.Unstructured{Object: map[string]any{"kind": "Superset", "spec": map[string]any{}}},
			&unstructured.Unstructured{Object: map[string]any{"kind": "Superset"}},
		},
		"a status of the wrong shape": {
			&unstructured.Unstructured{Object: map[string]any{"kind": "Superset", "status": "x"}},
			&unstructured.Unstructured{Object: map[string]any{"kind": "Superset"}},
		},
		"metadata of a CRD": {
			&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}}},
			&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Trim(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("trimmed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRead(t *testing.T) {
	got, err := Read(kind(t), fullObject())
	if err != nil {
		t.Fatal(err)
	}
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	want := Object{
		Phase:       "Running",
		Conditions:  []metav1.Condition{{Type: "Available", Status: "True", Reason: "R", Message: "m", LastTransitionTime: at}},
		Transitions: []transition.Entry{{Seq: 4, Time: at, To: "Running"}},
	}
	got.Unstructured = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	empty, err := Read(kind(t), &unstructured.Unstructured{Object: map[string]any{}})
	if err != nil || empty.Phase != "" || empty.Conditions != nil || empty.Transitions != nil {
		t.Errorf("read %+v, %v of an empty object", empty, err)
	}
	malformed := fullObject()
	malformed.Object["status"] = map[string]any{"conditions": "x"}
	if _, err := Read(kind(t), malformed); err == nil {
		t.Error("no error for conditions of the wrong shape")
	}
}
