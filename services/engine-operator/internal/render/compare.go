package render

import (
	"fmt"
	"maps"

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
	if print, ok := live.Annotations[names.AnnotationRenderingHash]; ok && print != desired.Annotations[names.AnnotationRenderingHash] {
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
		if !ok {
			return len(w) == 0 && have == nil
		}
		for k, v := range w {
			if !holds(v, h[k]) {
				return false
			}
		}
		for k, v := range h {
			if _, wanted := w[k]; !wanted && hasEntries(v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || len(w) != len(h) {
			return len(w) == 0 && !ok && have == nil
		}
		for i := range w {
			if !holds(w[i], h[i]) {
				return false
			}
		}
		return true
	case nil:
		return true
	default:
		return want == have
	}
}

func hasEntries(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0
}
