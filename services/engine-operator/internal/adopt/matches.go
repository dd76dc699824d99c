package adopt

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

// MatchesSpec reports whether a live Deployment has everything that the user's part of the spec
// sets: the replicas and each field of the pod template. A user may have changed the spec
// while no operator ran, and that change must not be lost by the adoption.
func MatchesSpec(user *corev1.PodTemplateSpec, desired, live *appsv1.Deployment) bool {
	if ptr.Deref(desired.Spec.Replicas, 1) != ptr.Deref(live.Spec.Replicas, 1) {
		return false
	}
	if user == nil {
		return true
	}
	want, err := runtime.DefaultUnstructuredConverter.ToUnstructured(user)
	if err != nil {
		return false
	}
	have, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&live.Spec.Template)
	if err != nil {
		return false
	}
	return contains(want, have)
}

// contains reports whether have contains every value that is set in want. It may contain more: defaults
// of the API server, and fields that the operator adds.
func contains(want, have any) bool {
	switch w := want.(type) {
	case nil:
		return true
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return len(w) == 0
		}
		for k, v := range w {
			if !contains(v, h[k]) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok {
			return len(w) == 0
		}
		for _, v := range w {
			if !slices.ContainsFunc(h, func(e any) bool { return contains(v, e) }) {
				return false
			}
		}
		return true
	}
	return want == have
}
