package render

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Compare says whether a live StatefulSet is what would be rendered now.
//
// It differs when it was made from another rendering, or when a rendered field no longer
// has its value, or when something was added to a list or map that the API server never
// fills by itself. A StatefulSet without a fingerprint, left by an earlier operator, is
// judged by its fields alone.
func Compare(desired, live *appsv1.StatefulSet) (engine.Match, error) {
	if hash, ok := live.Annotations[names.AnnotationRenderingHash]; ok && hash != desired.Annotations[names.AnnotationRenderingHash] {
		return engine.Differs, nil
	}
	want, have := desired.Spec.Template, live.Spec.Template
	if !maps.Equal(want.Labels, have.Labels) || !maps.Equal(want.Annotations, have.Annotations) ||
		!maps.Equal(want.Spec.NodeSelector, have.Spec.NodeSelector) {
		return engine.Differs, nil
	}
	for _, part := range []struct{ want, have any }{
		{&desired.Spec, &live.Spec},
		{&labelled{Labels: desired.Labels, Inputs: inputAnnotations(desired)}, &labelled{Labels: live.Labels, Inputs: inputAnnotations(live)}},
	} {
		w, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part.want)
		if err != nil {
			return engine.Unknown, fmt.Errorf("convert rendered StatefulSet %q: %w", desired.Name, err)
		}
		h, err := runtime.DefaultUnstructuredConverter.ToUnstructured(part.have)
		if err != nil {
			return engine.Unknown, fmt.Errorf("convert live StatefulSet %q: %w", live.Name, err)
		}
		if !holds(w, h) {
			return engine.Differs, nil
		}
	}
	return engine.Same, nil
}

type labelled struct {
	Labels map[string]string `json:"labels,omitempty"`
	Inputs map[string]string `json:"inputs,omitempty"`
}

// inputAnnotations are those of the annotations that drift is decided by.
func inputAnnotations(s *appsv1.StatefulSet) map[string]string {
	out := map[string]string{}
	for _, key := range []string{names.AnnotationConfigHash, names.AnnotationClassHash, names.AnnotationOverride} {
		if v, ok := s.Annotations[key]; ok {
			out[key] = v
		}
	}
	return out
}

// holds says whether every wanted value stands in have. Scalars and objects that only
// have knows are defaults of the API server; lists that only have knows are somebody's
// edits, since defaulting never adds an entry to a list.
func holds(want, have any) bool {
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		return (!ok && len(w) == 0 && have == nil) || (ok && objectHolds(w, h))
	case []any:
		h, ok := have.([]any)
		return (!ok && len(w) == 0 && have == nil) || (ok && listHolds(w, h))
	case nil:
		return true
	}
	return want == have
}

func objectHolds(want, have map[string]any) bool {
	for k, v := range want {
		if !holds(v, have[k]) {
			return false
		}
	}
	for k, v := range have {
		list, isList := v.([]any)
		if _, wanted := want[k]; !wanted && isList && len(list) > 0 {
			return false
		}
	}
	return true
}

func listHolds(want, have []any) bool {
	return slices.EqualFunc(want, have, holds)
}
