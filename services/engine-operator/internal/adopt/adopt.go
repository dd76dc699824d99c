// Package adopt decides what becomes of a workload that exists already.
//
// An operator of another make may have left an instance running. Taking it over must not
// restart anything, so its workloads stay as they are, with the fingerprint of what would
// be rendered for them recorded on the object (never on its pod template, which would roll
// the pods). As soon as that fingerprint changes, because the spec changed or a
// release renders otherwise, the workload is applied in full and is like any other.
//
// The package is pure: [Decide] returns the action, [Note] the annotation to write.
package adopt

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Action is what the controller does with a workload.
type Action int

// The actions.
const (
	// Apply: the workload is ours, or absent, or its desired state has changed.
	Apply Action = iota
	// Annotate: an earlier operator created it; record the fingerprint on it and change nothing else.
	Annotate
	// Skip: it is annotated, and its desired state has not changed since.
	Skip
)

// Decide compares a live workload, which is the owner's already, with the desired one,
// which carries its fingerprint. matches reports whether the live one matches the users' spec
// ([MatchesSpec]); one that does not is never adopted as it is.
func Decide(desired, live metav1.Object, matches bool) Action {
	want := desired.GetAnnotations()[names.AnnotationRenderingHash]
	has := live.GetAnnotations()
	if _, ours := has[names.AnnotationRenderingHash]; ours {
		return Apply
	}
	switch recorded, marked := has[names.AnnotationAdopted]; {
	case !marked && matches:
		return Annotate
	case marked && recorded == want:
		return Skip
	}
	return Apply
}

// Note puts the fingerprint of the desired workload on the live one.
func Note(desired, live metav1.Object) {
	annotations := map[string]string{}
	maps.Copy(annotations, live.GetAnnotations())
	annotations[names.AnnotationAdopted] = desired.GetAnnotations()[names.AnnotationRenderingHash]
	live.SetAnnotations(annotations)
}
