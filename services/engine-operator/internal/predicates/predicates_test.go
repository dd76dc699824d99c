package predicates

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func TestMetadataDiffers(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.FireboltEngine)
		want   bool
	}{
		"a status":             {func(e *v1alpha1.FireboltEngine) { e.Status.Phase = v1alpha1.PhaseStable }, false},
		"a label":              {func(e *v1alpha1.FireboltEngine) { e.Labels = map[string]string{"a": "b"} }, false},
		"a resync":             {func(e *v1alpha1.FireboltEngine) { e.ResourceVersion = "1" }, true},
		"the spec":             {func(e *v1alpha1.FireboltEngine) { e.Generation = 2 }, true},
		"a deletion":           {func(e *v1alpha1.FireboltEngine) { e.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }, true},
		"an annotation":        {func(e *v1alpha1.FireboltEngine) { e.Annotations = map[string]string{"a": "b"} }, true},
		"a removed finalizer":  {func(e *v1alpha1.FireboltEngine) { e.Finalizers = nil }, true},
		"a replaced finalizer": {func(e *v1alpha1.FireboltEngine) { e.Finalizers = []string{"example.com/keep"} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			old := &v1alpha1.FireboltEngine{ObjectMeta: metav1.ObjectMeta{
				Name: "e", ResourceVersion: "1", Generation: 1, Finalizers: []string{v1alpha1.EngineFinalizer},
			}}
			now := old.DeepCopy()
			now.ResourceVersion = "2"
			tc.change(now)
			if got := MetadataDiffers(old, now); got != tc.want {
				t.Errorf("differs = %t, want %t", got, tc.want)
			}
		})
	}
}
