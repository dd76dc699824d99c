package webhook

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/validation"
)

// classes validates classes and protects those in use from deletion.
type classes struct{ rules }

// ValidateCreate implements admission.Validator.
func (v classes) ValidateCreate(_ context.Context, c *v1alpha1.FireboltEngineClass) (admission.Warnings, error) {
	return v.validate(c)
}

// ValidateUpdate implements admission.Validator.
func (v classes) ValidateUpdate(_ context.Context, oldObj, newObj *v1alpha1.FireboltEngineClass) (admission.Warnings, error) {
	if skips(newObj, equality.Semantic.DeepEqual(oldObj.Spec, newObj.Spec)) {
		return nil, nil
	}
	return v.validate(newObj)
}

func (v classes) validate(c *v1alpha1.FireboltEngineClass) (admission.Warnings, error) {
	if foreign(v.watched, c.Namespace) {
		return nil, nil
	}
	return ignored(validation.ClassIgnored(c)), invalid("FireboltEngineClass", c, append(validation.Class(c), validation.ClassUnsupported(c)...))
}

// ValidateDelete implements admission.Validator. It rejects the deletion of a class that engines use, or
// whose engines cannot be listed. Engines that terminate do not count, so that a Helm release can be uninstalled: the
// finalizer of the class controller keeps the class until they are deleted.
func (v classes) ValidateDelete(ctx context.Context, c *v1alpha1.FireboltEngineClass) (admission.Warnings, error) {
	if foreign(v.watched, c.Namespace) || c.DeletionTimestamp != nil {
		return nil, nil
	}
	var list v1alpha1.FireboltEngineList
	if err := v.apiReader.List(ctx, &list, client.InNamespace(c.Namespace)); err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("list the engines of class %q: %w", c.Name, err))
	}
	var users []string
	for i := range list.Items {
		e := &list.Items[i]
		if ref := e.Spec.EngineClassRef; ref != nil && *ref == c.Name && e.DeletionTimestamp == nil {
			users = append(users, e.Name)
		}
	}
	if len(users) == 0 {
		return nil, nil
	}
	slices.Sort(users)
	return nil, apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("fireboltengineclasses").GroupResource(), c.Name,
		fmt.Errorf("metadata.name: the class is used by %d FireboltEngine(s): %s; delete them or change their class first", len(users), joinFirst(users)))
}
