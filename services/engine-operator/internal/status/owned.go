package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// OwnEngine is an engine's status without the conditions that others own.
func OwnEngine(s v1.FireboltEngineStatus) v1.FireboltEngineStatus {
	s.Conditions = own(s.Conditions, engineConditions)
	return s
}

// OwnInstance is an instance's status without the conditions that others own.
func OwnInstance(s v1.FireboltInstanceStatus) v1.FireboltInstanceStatus {
	s.Conditions = own(s.Conditions, instanceConditions)
	return s
}

// own keeps the conditions of the given types, in that order.
func own(conditions []metav1.Condition, types []string) []metav1.Condition {
	var out []metav1.Condition
	for _, t := range types {
		if c := meta.FindStatusCondition(conditions, t); c != nil {
			out = append(out, *c)
		}
	}
	return out
}
