package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func TestEngineBounds(t *testing.T) {
	most := Bounds{
		CPU: new(resource.MustParse("32")), Memory: new(resource.MustParse("256Gi")),
		EphemeralStorage: new(resource.MustParse("10Ti")),
	}
	const at = "spec.template.spec.containers[engine].resources."
	const fromClass = ` (inherited from FireboltEngineClass "big")`
	cases := map[string]struct {
		engine, class string
		bounds        Bounds
		want          string
	}{
		"no bounds":    {engine: `{requests: {cpu: 1000}}`},
		"no resources": {bounds: most},
		"equal to the bounds": {
			engine: `{requests: {cpu: 32000m, memory: 256Gi, ephemeral-storage: 10Ti}, limits: {cpu: 32}}`, bounds: most,
		},
		"each dimension, in requests and in limits": {
			engine: `{requests: {cpu: 32001m, memory: 257Gi}, limits: {ephemeral-storage: 11Ti, cpu: 33}}`, bounds: most,
			want: at + "limits.cpu: 33 is more than the operator's maximum of 32. " +
				at + "limits.ephemeral-storage: 11Ti is more than the operator's maximum of 10Ti. " +
				at + "requests.cpu: 32001m is more than the operator's maximum of 32. " +
				at + "requests.memory: 257Gi is more than the operator's maximum of 256Gi.",
		},
		"dimensions are independent": {
			engine: `{requests: {cpu: 1000, memory: 257Gi}}`, bounds: Bounds{Memory: most.Memory},
			want: at + "requests.memory: 257Gi is more than the operator's maximum of 256Gi.",
		},
		"unknown resources are not bounded": {engine: `{limits: {example.com/gpu: 1000, hugepages-2Mi: 1Ti}}`, bounds: most},
		"the class is named": {
			class: `{requests: {cpu: 64}}`, bounds: most, want: at + "requests.cpu: 64 is more than the operator's maximum of 32" + fromClass + ".",
		},
		"the engine's replace the class's as a whole": {
			engine: `{limits: {memory: 1Gi}}`, class: `{requests: {cpu: 64}}`, bounds: most,
		},
		"the engine's are not the class's fault": {
			engine: `{requests: {cpu: 65}}`, class: `{requests: {cpu: 64}}`, bounds: most,
			want: at + "requests.cpu: 65 is more than the operator's maximum of 32.",
		},
		"claims alone are resources too": {engine: `{claims: [{name: x}]}`, class: `{requests: {cpu: 64}}`, bounds: most},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := &v1alpha1.FireboltEngine{Spec: v1alpha1.FireboltEngineSpec{Template: withResources(t, tc.engine)}}
			class := &v1alpha1.FireboltEngineClass{ObjectMeta: metav1.ObjectMeta{Name: "big"}}
			if from := withResources(t, tc.class); from != nil {
				class.Spec.Template = *from
			}
			if diff := cmp.Diff(tc.want, Message(EngineBounds(e, class, tc.bounds))); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// withResources returns a template whose engine container has the resources, next to a sidecar
// without bounds.
func withResources(t *testing.T, resources string) *corev1.PodTemplateSpec {
	t.Helper()
	if resources == "" {
		return nil
	}
	own := corev1.Container{Name: "engine", Resources: *read[corev1.ResourceRequirements](t, resources)}
	sidecar := corev1.Container{Name: "log", Resources: *read[corev1.ResourceRequirements](t, `{limits: {cpu: 5000, memory: 5Pi}}`)}
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{own, sidecar}}}
}
