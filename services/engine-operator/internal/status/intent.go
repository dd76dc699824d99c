package status

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Intent returns the user's command from the annotation. A single annotation makes
// pause and stop mutually exclusive.
func Intent(o metav1.Object) contract.Intent {
	by := "annotation " + v1alpha1.AnnotationCommand
	switch o.GetAnnotations()[v1alpha1.AnnotationCommand] {
	case v1alpha1.CommandPaused:
		return contract.Intent{Paused: true, PausedBy: by}
	case v1alpha1.CommandStopped:
		return contract.Intent{Stopped: true, StoppedBy: by}
	}
	return contract.Intent{}
}

// Replicas returns the effective replicas: zero while a stop is requested.
func Replicas(e *v1alpha1.FireboltEngine) int32 {
	if Intent(e).Stopped {
		return 0
	}
	return e.Spec.Replicas
}
