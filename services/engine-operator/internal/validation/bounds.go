package validation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// Bounds are the maximum requests and limits of an engine container (specification 001,
// "Admission resource bounds"). An absent bound means unlimited.
type Bounds struct{ CPU, Memory, EphemeralStorage *resource.Quantity }

// EngineBounds checks the effective resources of the engine container: the
// engine's own, or those of its class. A value equal to the bound is valid; resources without a bound
// and other containers are not checked. class may be nil.
func EngineBounds(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass, b Bounds) field.ErrorList {
	resources, from := effective(e, class)
	at := templatePath.Child("spec", "containers").Key(names.ContainerEngine).Child("resources")
	var out field.ErrorList
	for _, of := range []struct {
		name string
		in   corev1.ResourceList
	}{{"requests", resources.Requests}, {"limits", resources.Limits}} {
		for _, bound := range []struct {
			name    corev1.ResourceName
			maximum *resource.Quantity
		}{{corev1.ResourceCPU, b.CPU}, {corev1.ResourceMemory, b.Memory}, {corev1.ResourceEphemeralStorage, b.EphemeralStorage}} {
			requested, ok := of.in[bound.name]
			if !ok || bound.maximum == nil || requested.Cmp(*bound.maximum) <= 0 {
				continue
			}
			detail := fmt.Sprintf("%s is more than the operator's maximum of %s%s", requested.String(), bound.maximum.String(), from)
			out = append(out, field.Invalid(at.Child(of.name, string(bound.name)), requested.String(), detail))
		}
	}
	return out
}

// effective returns the resources that the engine container runs with, and the class that
// sets them. A layer replaces the other as a whole, as in the merge of templates.
func effective(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) (r corev1.ResourceRequirements, from string) {
	if class != nil {
		if of, ok := resourcesIn(&class.Spec.Template); ok {
			r, from = of, inherited(class)
		}
	}
	if of, ok := resourcesIn(e.Spec.Template); ok {
		r, from = of, ""
	}
	return r, from
}

func resourcesIn(t *corev1.PodTemplateSpec) (r corev1.ResourceRequirements, ok bool) {
	if t == nil {
		return r, false
	}
	for i := range t.Spec.Containers {
		c := &t.Spec.Containers[i]
		if c.Name == names.ContainerEngine && len(c.Resources.Requests)+len(c.Resources.Limits)+len(c.Resources.Claims) > 0 {
			r, ok = c.Resources, true
		}
	}
	return r, ok
}
