// Package adopt decides how the operator treats a workload that already exists.
//
// A different operator may have created a running instance. Adopting it must not
// restart pods, so its workloads are left unchanged, and the hash of their desired
// rendering is recorded on the object (never on its pod template, which would roll
// the pods). When that hash changes, because the spec changed or a
// release renders differently, the workload is applied in full and managed like any other.
//
// An adopted database always keeps its image, since another major version cannot read its data: [Database] renders it.
//
// The package is pure: [Decide] returns the action, [Note] the annotation to write.
package adopt

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Action is what the controller does with an existing workload.
type Action int

// The actions.
const (
	// Apply applies the workload: it is ours, absent, or its desired state has changed.
	Apply Action = iota
	// Annotate records the hash on the workload of an earlier operator and changes nothing else.
	Annotate
	// Skip leaves the workload unchanged: it is annotated, and its desired state has not changed since.
	Skip
)

// Decide compares a live workload that the owner controls with the desired one,
// which carries its hash. matches reports whether the live workload matches the user's part of the
// spec ([MatchesSpec]); a workload that does not match is never adopted unchanged. former is the hash that an earlier release
// recorded for the same rendering, if it differs.
func Decide(desired, live metav1.Object, matches bool, former string) Action {
	want := desired.GetAnnotations()[names.AnnotationRenderingHash]
	has := live.GetAnnotations()
	if _, rendered := has[names.AnnotationRenderingHash]; rendered {
		return Apply
	}
	switch recorded, marked := has[names.AnnotationAdopted]; {
	case !marked && matches:
		return Annotate
	case marked && recorded == want:
		return Skip
	case marked && former != "" && recorded == former:
		return Annotate
	}
	return Apply
}

// Note copies the rendering hash of the desired workload to the live one.
func Note(desired, live metav1.Object) {
	annotations := map[string]string{}
	maps.Copy(annotations, live.GetAnnotations())
	annotations[names.AnnotationAdopted] = desired.GetAnnotations()[names.AnnotationRenderingHash]
	live.SetAnnotations(annotations)
}
