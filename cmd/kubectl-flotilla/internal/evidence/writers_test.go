package evidence

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestWritersReadManagedFields(t *testing.T) {
	u := &unstructured.Unstructured{}
	u.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: "superset-operator", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{"k:{\"type\":\"Suspended\"}":{}}}}`)},
		{Manager: "flotilla-conditions", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{"f:status":{}},"k:nonsense":{}}}}`)},
		{Manager: "broken", FieldsV1: metav1.NewFieldsV1(`[]`)},
		{Manager: "empty"},
	})
	want := map[string]string{"Suspended": "superset-operator", "Available": "flotilla-conditions"}
	if diff := cmp.Diff(want, Writers(u)); diff != "" {
		t.Error(diff)
	}
}
