package ownedstatus

import (
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// toJSON returns v as a JSON object without nulls and empty containers, whole numbers as int64.
func toJSON(v any) (map[string]any, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode owned fields: %w", err)
	}
	out := map[string]any{}
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		return nil, fmt.Errorf("encode owned fields: %w", err)
	}
	for k, field := range out {
		if dropNulls(field); isEmpty(field) {
			delete(out, k)
		}
	}
	return out, nil
}

func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, field := range v {
			if field == nil {
				delete(v, k)
				continue
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// statusOf returns the status of obj as a JSON value.
func statusOf(obj client.Object) (any, error) {
	var content map[string]any
	if u, ok := obj.(*unstructured.Unstructured); ok {
		content = u.Object
	} else {
		field := statusField(obj)
		if !field.IsValid() {
			return nil, fmt.Errorf("%T has no field Status", obj)
		}
		converted, err := runtime.DefaultUnstructuredConverter.ToUnstructured(field.Addr().Interface())
		if err != nil {
			return nil, fmt.Errorf("convert status: %w", err)
		}
		return converted, nil
	}
	if status, ok := content[subresource]; ok {
		return status, nil
	}
	return map[string]any{}, nil
}

// adopt copies the status and the version of the API server's response into current.
func adopt(current client.Object, response *unstructured.Unstructured) error {
	if u, ok := current.(*unstructured.Unstructured); ok {
		u.Object[subresource] = response.Object[subresource]
	} else {
		fresh, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(current).Elem()))
		if !ok {
			return fmt.Errorf("%T cannot be copied", current)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(response.Object, fresh); err != nil {
			return fmt.Errorf("decode the response: %w", err)
		}
		statusField(current).Set(statusField(fresh))
	}
	current.SetResourceVersion(response.GetResourceVersion())
	current.SetManagedFields(response.GetManagedFields())
	return nil
}

func statusField(obj client.Object) reflect.Value {
	return reflect.ValueOf(obj).Elem().FieldByName("Status")
}
