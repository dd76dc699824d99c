package observe

import (
	"slices"

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
