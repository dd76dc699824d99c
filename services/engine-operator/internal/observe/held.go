package observe

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Held lists the children that foreign finalizers hold once they are deleted, by
// kind and name.
func (c Children) Held() []string {
	var out []string
	add := func(kind string, o metav1.Object) {
		if hasForeignFinalizer(o.GetFinalizers()) {
			out = append(out, kind+" "+o.GetName())
		}
	}
	for _, set := range c.StatefulSets {
		add("StatefulSet", set)
	}
	for _, s := range c.Headless {
		add("Service", s)
	}
	for _, config := range c.Configs {
		add("ConfigMap", config)
	}
	if c.Cluster != nil {
		add("Service", c.Cluster)
	}
	slices.Sort(out)
	return out
}

// ServiceFinalizers returns the foreign finalizers that hold a deleted cluster Service; nil if there are none.
func (c Children) ServiceFinalizers() []string {
	if c.Cluster == nil || c.Cluster.DeletionTimestamp == nil {
		return nil
	}
	return foreignFinalizers(c.Cluster.Finalizers)
}

// stuckAfter is how long a pod may exist after the end of its grace period.
const stuckAfter = time.Minute

// Stuck returns the pods of generations other than the current one that do not terminate, sorted by name: those on a lost node never do.
func (c Children) Stuck(now time.Time) []corev1.Pod {
	var out []corev1.Pod
	for n, pods := range c.Pods {
		for i := range pods {
			if end := pods[i].DeletionTimestamp; n != c.current && end != nil && now.Sub(end.Time) > stuckAfter {
				out = append(out, pods[i])
			}
		}
	}
	slices.SortFunc(out, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return out
}
