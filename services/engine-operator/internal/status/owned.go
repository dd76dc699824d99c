package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// EngineConditions lists the condition types that the operator owns on an engine.
func EngineConditions() []string { return slices.Clone(engineConditions) }

// InstanceConditions lists the condition types that the operator owns on an instance.
func InstanceConditions() []string { return slices.Clone(instanceConditions) }

// ClassConditions lists the condition types that the operator owns on a class.
func ClassConditions() []string { return slices.Clone(classConditions) }

// ForeignConditions lists the condition types of engines and instances that the field manager
// flotilla-conditions owns; the operator itself owns the summary Ready.
func ForeignConditions() []string { return conditions.TypesOf(false) }

// OwnEngine returns an engine's status without the conditions of other writers.
func OwnEngine(s v1alpha1.FireboltEngineStatus) v1alpha1.FireboltEngineStatus {
	s.Conditions = own(s.Conditions, engineConditions)
	return s
}

// OwnInstance returns an instance's status without the conditions of other writers.
func OwnInstance(s v1alpha1.FireboltInstanceStatus) v1alpha1.FireboltInstanceStatus {
	s.Conditions = own(s.Conditions, instanceConditions)
	return s
}

// own returns the conditions of the given types, in the order of the types.
func own(conditions []metav1.Condition, types []string) []metav1.Condition {
	var out []metav1.Condition
	for _, t := range types {
		if c := meta.FindStatusCondition(conditions, t); c != nil {
			out = append(out, *c)
		}
	}
	return out
}
