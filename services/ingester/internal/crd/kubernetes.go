package crd

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// leaves are the types of Kubernetes with a JSON form of their own.
var leaves = map[reflect.Type]func() *props{
	reflect.TypeFor[metav1.Time]():        nullableTime,
	reflect.TypeFor[metav1.FieldsV1]():    anyObject,
	reflect.TypeFor[resource.Quantity]():  intOrString,
	reflect.TypeFor[intstr.IntOrString](): intOrString,
}

// nullableTime accepts null, the JSON form of a Go time that is not set.
func nullableTime() *props {
	out := dateTime()
	out.Nullable = true
	return out
}

func intOrString() *props {
	return &props{XIntOrString: true, AnyOf: []props{{Type: "integer"}, {Type: "string"}}}
}

// goType renders a type of Kubernetes from its Go fields: names and types, as the
// encoder checks them, without validation of values, which Kubernetes validates
// when the object is used.
func goType(t reflect.Type) (*props, error) {
	if render, ok := leaves[t]; ok {
		return render(), nil
	}
	if marshaler := reflect.TypeFor[json.Marshaler](); t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshaler) {
		return nil, fmt.Errorf("type %v implements json.Marshaler: add it to the table in kubernetes.go", t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return goType(t.Elem())
	case reflect.Bool:
		return &props{Type: "boolean"}, nil
	case reflect.String:
		return &props{Type: "string"}, nil
	case reflect.Int32:
		return &props{Type: "integer", Format: "int32"}, nil
	case reflect.Int64:
		return &props{Type: "integer", Format: "int64"}, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &props{Type: "string", Format: "byte"}, nil
		}
		element, err := goType(t.Elem())
		return list(element), err
	case reflect.Map:
		element, err := goType(t.Elem())
		return mapOf(element), err
	case reflect.Struct:
		out := &props{Type: "object", Properties: map[string]props{}}
		return out, goFields(t, out.Properties)
	}
	return nil, fmt.Errorf("type %v cannot be expressed in a CRD", t)
}

// goFields adds the fields of a struct, and those of the structs that it inlines.
func goFields(t reflect.Type, into map[string]props) error {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" {
			if !field.Anonymous || field.Type.Kind() != reflect.Struct {
				return fmt.Errorf("field %s of %v has no JSON name", field.Name, t)
			}
			if err := goFields(field.Type, into); err != nil {
				return err
			}
			continue
		}
		s, err := goType(field.Type)
		if err != nil {
			return fmt.Errorf("field %s of %v: %w", name, t, err)
		}
		if field.Type.Kind() == reflect.Slice && !strings.Contains(options, "omitempty") {
			s.Nullable = true // Go encodes an empty list without omitempty as null
		}
		into[name] = *s
	}
	return nil
}
