package managedfields_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/managedfields"
)

// TestTransferKeepsObject matters for objects of a cache, which share their fields with others.
func TestTransferKeepsObject(t *testing.T) {
	obj := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{
		{
			Manager: "operator", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`),
		},
		{
			Manager: "former", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:b":{}}}`),
		},
	}}}
	before := obj.DeepCopy()
	patch, err := managedfields.Transfer(obj, "operator", "", []string{"former"})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"f:data":{"f:a":{},"f:b":{}}}`; !strings.Contains(string(patch), want) {
		t.Errorf("patch is %s, want the fields %s", patch, want)
	}
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Errorf("the object changed (-before +after):\n%s", diff)
	}
}
