package conditions

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OnlyDetailsDiffer reports whether an object has all conditions of a list with the same statuses, and not all with the same
// reason, message and observed generation. A writer may delay such a change: a client that waits for a status of the latest
// generation returns later, and never early.
func OnlyDetailsDiffer(present, desired []metav1.Condition) bool {
	old := indexByType(present)
	differ := false
	for _, c := range desired {
		was, found := old[c.Type]
		if !found {
			return false
		}
		differ = differ || was.Reason != c.Reason || was.Message != c.Message || was.ObservedGeneration != c.ObservedGeneration
		c.Reason, c.Message, c.ObservedGeneration = was.Reason, was.Message, was.ObservedGeneration
		if !equality.Semantic.DeepEqual(was, c) {
			return false
		}
	}
	return differ
}
