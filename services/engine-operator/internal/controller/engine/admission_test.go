package engine

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// Without the webhook, the controller rejects the same engines.
func TestControllerRejectsLikeWebhook(t *testing.T) {
	sidecar := []corev1.Container{{Name: "log"}}
	class := &v1alpha1.FireboltEngineClass{}
	class.Spec.Template.Spec.Containers = sidecar
	e := engineWithUID("a")
	e.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{InitContainers: sidecar, HostNetwork: true}}
	s := &reconcileState{engine: e, class: class}
	if _, err := (&Reconciler{}).admit(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := validation.Message(validation.EngineAll(e, class, nil, validation.Bounds{}))
	if s.rejected != want || !strings.Contains(want, "initContainers[log]") {
		t.Errorf("rejected = %q, want %q", s.rejected, want)
	}
}
