package webhook

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// engines validates engines.
type engines struct{ rules }

// ValidateCreate implements admission.Validator.
func (v engines) ValidateCreate(ctx context.Context, e *v1alpha1.FireboltEngine) (admission.Warnings, error) {
	return v.validate(ctx, e)
}

// ValidateUpdate implements admission.Validator.
func (v engines) ValidateUpdate(ctx context.Context, oldObj, newObj *v1alpha1.FireboltEngine) (admission.Warnings, error) {
	if skips(newObj, equality.Semantic.DeepEqual(oldObj.Spec, newObj.Spec)) {
		return nil, nil
	}
	return v.validate(ctx, newObj)
}

// ValidateDelete implements admission.Validator. It accepts every deletion.
func (engines) ValidateDelete(context.Context, *v1alpha1.FireboltEngine) (admission.Warnings, error) {
	return nil, nil
}

func (v engines) validate(ctx context.Context, e *v1alpha1.FireboltEngine) (admission.Warnings, error) {
	if foreign(v.watched, e.Namespace) {
		return nil, nil
	}
	var warnings admission.Warnings
	spec := field.NewPath("spec")
	var all field.ErrorList
	instance := &v1alpha1.FireboltInstance{}
	exists, failure := v.get(ctx, e.Namespace, e.Spec.InstanceRef, instance, spec.Child("instanceRef"))
	if !exists {
		instance = nil
	}
	switch {
	case failure != nil:
		all = append(all, failure)
	case !exists:
		warnings = append(warnings, fmt.Sprintf("spec.instanceRef: FireboltInstance %q does not exist yet; the engine waits for it", e.Spec.InstanceRef))
	}
	class, failure := v.class(ctx, e, spec.Child("engineClassRef"))
	switch {
	case failure != nil:
		all = append(all, failure)
	case class == nil && e.Spec.EngineClassRef != nil:
		warnings = append(warnings, fmt.Sprintf("spec.engineClassRef: FireboltEngineClass %q does not exist yet; the engine waits for it", *e.Spec.EngineClassRef))
	}
	warnings = append(warnings, ignored(validation.EngineIgnored(e, class))...)
	if text := validation.LongName(e.Name); text != "" {
		warnings = append(warnings, text)
	}
	all = append(all, validation.EngineAll(e, class, instance, v.bounds)...)
	return warnings, invalid("FireboltEngine", e, all)
}

// class returns the class that the engine refers to, nil if it refers to none or the class does not exist: Helm creates
// the engines of a release before their class, so a missing one is a warning.
func (v engines) class(ctx context.Context, e *v1alpha1.FireboltEngine, at *field.Path) (*v1alpha1.FireboltEngineClass, *field.Error) {
	if e.Spec.EngineClassRef == nil {
		return nil, nil
	}
	class := &v1alpha1.FireboltEngineClass{}
	exists, failure := v.get(ctx, e.Namespace, *e.Spec.EngineClassRef, class, at)
	if failure != nil || !exists {
		return nil, failure
	}
	return class, nil
}
