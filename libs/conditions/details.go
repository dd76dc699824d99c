package conditions

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OnlyDetailsDiffer reports whether an object has all conditions of a list with the same statuses and observed generations,
// and not all with the same reason and message. A writer may delay such a change: no client waits for it.
func OnlyDetailsDiffer(present, desired []metav1.Condition) bool {
	old := indexByType(present)
	differ := false
	for _, c := range desired {
		was, found := old[c.Type]
		if !found {
			return false
		}
		differ = differ || was.Reason != c.Reason || was.Message != c.Message
		c.Reason, c.Message = was.Reason, was.Message
		if !equality.Semantic.DeepEqual(was, c) {
			return false
		}
	}
	return differ
}
