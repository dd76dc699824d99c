package engine

import (
	"context"
	"math"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
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

// Engines that are older than the limit of the schema: nothing is rendered, since the configuration lists every node.
func TestTooManyReplicasRenderNothing(t *testing.T) {
	for replicas, want := range map[int32]string{
		math.MaxInt32: "spec.replicas: must be at most 1000.", 1001: "spec.replicas: must be at most 1000.", 1000: "",
	} {
		e := engineWithUID("a")
		e.Spec.Replicas = replicas
		s := &reconcileState{engine: e, instance: &v1alpha1.FireboltInstance{}}
		s.start()
		r := &Reconciler{}
		for _, step := range []func(context.Context, *reconcileState) (steps.Result, error){r.admit, r.render} {
			if _, err := step(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if s.bounds != want || (s.desired == nil) != (want != "") {
			t.Errorf("%d replicas: bounds = %q, rendered = %t", replicas, s.bounds, s.desired != nil)
		}
		if got := validation.Message(validation.EngineAll(e, nil, nil, validation.Bounds{})); got != want {
			t.Errorf("%d replicas: the webhook reports %q", replicas, got)
		}
	}
}
