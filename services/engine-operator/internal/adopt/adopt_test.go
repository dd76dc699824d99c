package adopt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

func deployment(annotations map[string]string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
}

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		live    map[string]string
		missing bool // the user's request
		want    Action
	}{
		"an earlier operator's is marked":                     {live: map[string]string{"deployment.kubernetes.io/revision": "3"}, want: Annotate},
		"one without annotations too":                         {want: Annotate},
		"a marked one is kept while the rendering stays":      {live: map[string]string{names.AnnotationAdopted: "new"}, want: Skip},
		"one marked by an earlier release is marked again":    {live: map[string]string{names.AnnotationAdopted: "former"}, want: Annotate},
		"a marked one is applied when the rendering changes":  {live: map[string]string{names.AnnotationAdopted: "old"}, want: Apply},
		"a marked one is applied after a stop":                {live: map[string]string{names.AnnotationAdopted: "stopped"}, missing: true, want: Apply},
		"ours is applied, whatever its fingerprint":           {live: map[string]string{names.AnnotationRenderingHash: "old"}, want: Apply},
		"ours is applied when nothing changed, against edits": {live: map[string]string{names.AnnotationRenderingHash: "new"}, want: Apply},
		"ours is not adopted for the hash of an earlier release": {
			live: map[string]string{names.AnnotationRenderingHash: "old", names.AnnotationAdopted: "former"}, want: Apply,
		},
		"ours is never adopted again, whatever is noted on it": {
			live: map[string]string{names.AnnotationRenderingHash: "old", names.AnnotationAdopted: "new"}, want: Apply,
		},
	}
	desired := deployment(map[string]string{names.AnnotationRenderingHash: "new"})
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Decide(desired, deployment(tc.live), !tc.missing, "former"); got != tc.want {
				t.Errorf("Decide() = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestMarkedWorkloadKeepsAnnotations(t *testing.T) {
	desired := deployment(map[string]string{names.AnnotationRenderingHash: "new"})
	shared := map[string]string{"a": "b"}
	live := deployment(shared)
	Note(desired, live)
	if diff := cmp.Diff(map[string]string{"a": "b", names.AnnotationAdopted: "new"}, live.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
	if len(shared) != 1 {
		t.Error("the map of the cached object was changed")
	}
	if got := Decide(desired, live, true, ""); got != Skip {
		t.Errorf("Decide() after Note = %v, want %v", got, Skip)
	}
}
