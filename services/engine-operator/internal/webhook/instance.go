package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// instances validates instances.
type instances struct{ rules }

// ValidateCreate implements admission.Validator.
func (v instances) ValidateCreate(_ context.Context, i *v1alpha1.FireboltInstance) (admission.Warnings, error) {
	return v.validate(i, nil)
}

// ValidateUpdate implements admission.Validator.
func (v instances) ValidateUpdate(_ context.Context, oldObj, newObj *v1alpha1.FireboltInstance) (admission.Warnings, error) {
	if skips(newObj, equality.Semantic.DeepEqual(oldObj.Spec, newObj.Spec)) {
		return nil, nil
	}
	return v.validate(newObj, oldObj)
}

// ValidateDelete implements admission.Validator. The controller's finalizer keeps an
// instance that engines use.
func (instances) ValidateDelete(context.Context, *v1alpha1.FireboltInstance) (admission.Warnings, error) {
	return nil, nil
}

// validate checks an instance; oldObj is its previous version, nil for a new one.
func (v instances) validate(i, oldObj *v1alpha1.FireboltInstance) (admission.Warnings, error) {
	if foreign(v.watched, i.Namespace) {
		return nil, nil
	}
	all := validation.InstanceAll(i)
	if oldObj != nil {
		all = append(all, validation.InstanceUpdate(oldObj, i)...)
	}
	return ignored(validation.InstanceIgnored(i)), invalid("FireboltInstance", i, all)
}
