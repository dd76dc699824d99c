package app

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func TestCacheSharesManagedFields(t *testing.T) {
	var o cache.Options
	trimCache(&o)
	for obj, by := range o.ByObject {
		if _, ok := obj.(*appsv1.StatefulSet); !ok {
			continue
		}
		var fields [2]*metav1.FieldsV1
		for i := range fields {
			s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
				Labels:        map[string]string{names.LabelEngine: "main"},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "a", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{}}`)}},
			}}
			if _, err := by.Transform(s); err != nil {
				t.Fatal(err)
			}
			fields[i] = s.ManagedFields[0].FieldsV1
		}
		if fields[0] != fields[1] {
			t.Error("equal managed fields are kept twice")
		}
		return
	}
	t.Error("no options for StatefulSets")
}
