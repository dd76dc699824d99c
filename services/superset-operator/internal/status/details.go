package status

import (
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	componentkind "github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
)

// OnlyDetailsDiffer reports whether two statuses differ only in the progress of the components' pods. The phase, the
// tasks, the operator's conditions and persisted decisions are not details.
func OnlyDetailsDiffer(current, desired *v1alpha1.SupersetStatus) bool {
	a, b := withoutDetails(current), withoutDetails(desired)
	return equality.Semantic.DeepEqual(a, b) && !equality.Semantic.DeepEqual(details(current), details(desired))
}

// progress are the fields of a status that are details.
type progress struct {
	Ready      string
	Components *v1alpha1.ComponentsStatus
}

func details(s *v1alpha1.SupersetStatus) progress { return progress{s.Ready, s.Components} }

// withoutDetails returns the status without details and without the conditions of other managers.
func withoutDetails(s *v1alpha1.SupersetStatus) *v1alpha1.SupersetStatus {
	out := s.DeepCopy()
	out.Ready = ""
	out.Conditions = OwnedConditions(s.Conditions)
	if out.Components == nil {
		return out
	}
	for _, d := range componentkind.All() {
		if c := *d.StatusRef(out.Components); c != nil {
			*c = v1alpha1.ComponentRefStatus{Ref: c.Ref, LastReplicas: c.LastReplicas, AdoptedSpec: c.AdoptedSpec}
		}
	}
	return out
}
