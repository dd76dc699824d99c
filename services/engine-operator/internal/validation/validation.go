// Package validation validates objects before anything is created from them.
//
// Admission and the controllers use the same rule table (rules.go): a webhook
// that is not installed only delays the report of an error, and
// [Message] formats it identically in both places. All functions are pure and return every
// offending path at once. Paths contain named entries of lists by their name:
// spec.template.spec.containers[engine].command.
//
// Rules that the CRD schema enforces on every write are not repeated here.
package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

var templatePath = field.NewPath("spec", "template")

// EngineAll runs all checks of an engine, for the admission webhook; the controller runs them one by one, since
// each has its own reason. class and instance may be nil when the engine
// refers to none, or when they do not exist. The class's own template is not checked
// again ([Class]), except for Secrets of the engine's instance and for names of the engine's containers.
func EngineAll(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass, instance *v1alpha1.FireboltInstance, bounds Bounds) field.ErrorList {
	out := append(EngineReplicas(e), EngineTemplate(e, instance)...)
	out = append(out, EngineInherited(class, instance)...)
	out = append(out, EngineMerged(e, class)...)
	out = append(out, EngineBounds(e, class, bounds)...)
	return append(out, EngineUnsupported(e, class)...)
}

// maxReplicas is the maximum number of an engine's nodes, as in the CRD: the configuration of each pod lists them all.
const maxReplicas = 1000

// EngineReplicas checks the number of nodes. The schema rejects it too, but not for an engine that is older than the limit.
func EngineReplicas(e *v1alpha1.FireboltEngine) field.ErrorList {
	if e.Spec.Replicas <= maxReplicas {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), e.Spec.Replicas, fmt.Sprintf("must be at most %d", maxReplicas))}
}

// EngineTemplate checks an engine's own pod template, below spec.template. instance may
// be nil when it does not exist.
func EngineTemplate(e *v1alpha1.FireboltEngine, instance *v1alpha1.FireboltInstance) field.ErrorList {
	return engineRules.template(templatePath, e.Spec.Template, protectedBy(instance))
}

// EngineInherited checks that the template of an engine's class does not expose
// Secrets of the instance: the class itself has no instance. Both may be nil.
func EngineInherited(class *v1alpha1.FireboltEngineClass, instance *v1alpha1.FireboltInstance) field.ErrorList {
	if class == nil || instance == nil {
		return nil
	}
	known := map[string]bool{}
	for _, e := range Class(class) { // reported on the class itself
		known[e.Field] = true
	}
	var out field.ErrorList
	for _, e := range engineRules.template(templatePath, &class.Spec.Template, protectedBy(instance)) {
		if !known[e.Field] {
			e.Detail += inherited(class)
			out = append(out, e)
		}
	}
	return out
}

// EngineMerged rejects container names that the engine and its class use in different lists: each template is valid, but
// Kubernetes rejects the merged one. class may be nil.
func EngineMerged(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) field.ErrorList {
	if class == nil || e.Spec.Template == nil {
		return nil
	}
	spec := templatePath.Child("spec")
	own := &e.Spec.Template.Spec
	known := map[string]bool{}
	for _, layer := range []*corev1.PodSpec{own, &class.Spec.Template.Spec} { // reported on the layer itself
		for _, conflict := range engineRules.containerNames(spec, layer) {
			known[conflict.Field] = true
		}
	}
	merged := resolve.Templates(&class.Spec.Template, e.Spec.Template)
	var out field.ErrorList
	for _, conflict := range engineRules.containerNames(spec, &merged.Spec) {
		if known[conflict.Field] {
			continue
		}
		list := "initContainers"
		if slices.ContainsFunc(own.Containers, func(c corev1.Container) bool { return c.Name == conflict.BadValue }) {
			list = "containers"
		}
		conflict.Field, conflict.Detail = spec.Child(list).Key(fmt.Sprint(conflict.BadValue)).String(), isClassName+inherited(class)
		out = append(out, conflict)
	}
	return out
}

// Class checks the pod template of a class.
func Class(c *v1alpha1.FireboltEngineClass) field.ErrorList {
	return engineRules.template(templatePath, &c.Spec.Template, nil)
}

// EngineUnsupported lists the features of the engine or its class that this release lacks.
// Without the feature users would get a different engine. class may be nil.
func EngineUnsupported(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) field.ErrorList {
	switch {
	case e.Spec.AutoStop != nil:
		return autoStop(e.Spec.AutoStop, "")
	case class != nil:
		return autoStop(class.Spec.AutoStop, inherited(class))
	}
	return nil
}

// ClassUnsupported lists the features of the class that this release lacks.
func ClassUnsupported(c *v1alpha1.FireboltEngineClass) field.ErrorList {
	return autoStop(c.Spec.AutoStop, "")
}

func autoStop(a *v1alpha1.AutoStopSpec, from string) field.ErrorList {
	if a == nil || !a.Enabled {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "autoStop", "enabled"), isUnsupported+from)}
}

// inherited returns the suffix for an error of the class, not of the engine.
func inherited(class *v1alpha1.FireboltEngineClass) string {
	return " (inherited from FireboltEngineClass \"" + class.Name + "\")"
}

// EngineIgnored lists the fields without effect in the engine's template and in its class's. class may be nil.
func EngineIgnored(e *v1alpha1.FireboltEngine, class *v1alpha1.FireboltEngineClass) field.ErrorList {
	out := append(engineRules.ignored(templatePath, e.Spec.Template), rounded(e.Spec.CustomEngineConfig)...)
	if class == nil {
		return out
	}
	for _, one := range ClassIgnored(class) {
		one.Detail += inherited(class)
		out = append(out, one)
	}
	return out
}

// ClassIgnored lists the fields without effect in the class's template.
func ClassIgnored(c *v1alpha1.FireboltEngineClass) field.ErrorList {
	return append(engineRules.ignored(templatePath, &c.Spec.Template), rounded(c.Spec.CustomEngineConfig)...)
}

// InstanceIgnored lists the fields without effect in the instance's templates.
func InstanceIgnored(i *v1alpha1.FireboltInstance) field.ErrorList {
	spec := field.NewPath("spec")
	return append(metadataRules.ignored(spec.Child("metadata", "template"), i.Spec.Metadata.Template),
		gatewayRules.ignored(spec.Child("gateway", "template"), i.Spec.Gateway.Template)...)
}
