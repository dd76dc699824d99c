package main

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

var supersetKind = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}

// superset is as small as one can be: a web server of one pod, and no task.
func superset(name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"environment": "Development",
		"image":       map[string]any{"tag": "6.0.0"},
		"secretKey":   "only-for-this-bench",
		"metastore":   map[string]any{"uri": "sqlite:////tmp/superset.db"},
		"lifecycle":   map[string]any{"disabled": true},
		"webServer":   map[string]any{"replicas": int64(1)},
	}}}
	obj.SetGroupVersionKind(supersetKind)
	obj.SetNamespace(benchlab.Namespace)
	obj.SetName(name)
	return obj
}

func supersets(n int) []client.Object {
	var out []client.Object
	for i := range n {
		out = append(out, superset(fmt.Sprintf("s-%05d", i)))
	}
	return out
}

// condition returns a condition of an object; without one, a zero value.
func condition(obj client.Object, conditionType string) metav1.Condition {
	list, _, err := unstructured.NestedSlice(obj.(*unstructured.Unstructured).Object, "status", "conditions")
	if err != nil {
		return metav1.Condition{}
	}
	for _, one := range list {
		c, ok := one.(map[string]any)
		if ok && c["type"] == conditionType {
			status, _, _ := unstructured.NestedString(c, "status")                //nolint:errcheck // another type is no status
			generation, _, _ := unstructured.NestedInt64(c, "observedGeneration") //nolint:errcheck // another type is no generation
			return metav1.Condition{Type: conditionType, Status: metav1.ConditionStatus(status), ObservedGeneration: generation}
		}
	}
	return metav1.Condition{}
}

// isAvailable says whether an object's newest generation is available.
func isAvailable(obj client.Object) bool {
	c := condition(obj, "Available")
	return c.Status == metav1.ConditionTrue && c.ObservedGeneration == obj.GetGeneration()
}
