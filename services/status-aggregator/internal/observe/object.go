package observe

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Object is a managed custom resource of the cache, with the fields that the aggregator reads.
type Object struct {
	*unstructured.Unstructured

	Conditions  []metav1.Condition
	Transitions []transition.Entry
	Phase       string
}

// Identity returns the object reference for messages.
func (o Object) Identity(kind registry.Kind) contract.Object {
	return contract.Object{
		GroupVersionKind: contract.GroupVersionKind{Group: kind.GVK.Group, Version: kind.GVK.Version, Kind: kind.GVK.Kind},
		Namespace:        o.GetNamespace(),
		Name:             o.GetName(),
		UID:              string(o.GetUID()),
		Generation:       o.GetGeneration(),
		ResourceVersion:  o.GetResourceVersion(),
	}
}

// Read extracts the fields of a kind from an object.
func Read(kind registry.Kind, u *unstructured.Unstructured) (Object, error) {
	o := Object{Unstructured: u}
	var err error
	if o.Phase, _, err = unstructured.NestedString(u.Object, kind.Phase...); err != nil {
		return Object{}, fmt.Errorf("read phase of %s: %w", kind.GVK.Kind, err)
	}
	if o.Conditions, err = list[metav1.Condition](u, kind.Conditions); err != nil {
		return Object{}, fmt.Errorf("read conditions of %s: %w", kind.GVK.Kind, err)
	}
	if o.Transitions, err = list[transition.Entry](u, kind.Transitions); err != nil {
		return Object{}, fmt.Errorf("read transitions of %s: %w", kind.GVK.Kind, err)
	}
	return o, nil
}

func list[T any](u *unstructured.Unstructured, path []string) ([]T, error) {
	raw, found, err := unstructured.NestedFieldNoCopy(u.Object, path...)
	if err != nil || !found {
		return nil, err
	}
	var holder struct {
		Items []T `json:"items"`
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"items": raw}, &holder)
	return holder.Items, err
}

// Trim is the cache's transform: it drops fields that the aggregator never reads. It keeps the
// managed fields, because the writer of conditions may have to rewrite them.
func Trim(obj any) (any, error) {
	switch o := obj.(type) {
	case *metav1.PartialObjectMetadata:
		o.Labels, o.Annotations, o.ManagedFields = nil, nil, nil
	case *unstructured.Unstructured:
		o.SetLabels(nil)
		o.SetAnnotations(nil)
		status, _, err := unstructured.NestedFieldNoCopy(o.Object, "status")
		if err != nil {
			return nil, fmt.Errorf("trim %q: %w", o.GetName(), err)
		}
		for key := range o.Object {
			switch key {
			case "apiVersion", "kind", "metadata":
			default:
				delete(o.Object, key)
			}
		}
		if kept := trimStatus(status); len(kept) > 0 {
			o.Object["status"] = kept
		}
	}
	return obj, nil
}

func trimStatus(status any) map[string]any {
	fields, ok := status.(map[string]any)
	if !ok {
		return nil
	}
	kept := map[string]any{}
	for _, key := range []string{"conditions", "phase", "transitions"} {
		if v, ok := fields[key]; ok {
			kept[key] = v
		}
	}
	return kept
}
