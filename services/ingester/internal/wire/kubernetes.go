package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
)

// kubernetes are the messages of Kubernetes that kinds may use.
var kubernetes = map[protoreflect.FullName]kubernetesMessage{
	"k8s.io.api.core.v1.PodTemplateSpec":                 object[corev1.PodTemplateSpec](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.Condition":     object[metav1.Condition](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelector": object[metav1.LabelSelector](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta":    object[metav1.ObjectMeta](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.Time":          value[metav1.Time](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.TypeMeta":      object[metav1.TypeMeta](),
}

type kubernetesMessage struct {
	goType reflect.Type
	encode encodeFunc
}

// GoType returns the Go type that encodes a message of Kubernetes, so that a CRD
// can accept exactly what the encoder accepts.
func GoType(message protoreflect.FullName) (reflect.Type, bool) {
	m, ok := kubernetes[message]
	return m.goType, ok
}

type marshaler[T any] interface {
	*T
	Marshal() ([]byte, error)
}

// object converts a JSON object to its Go type. A key that the type does not have is an error.
func object[T any, P marshaler[T]]() kubernetesMessage {
	return kubernetesMessage{reflect.TypeFor[T](), func(b []byte, v any) ([]byte, error) {
		content, ok := v.(map[string]any)
		if !ok {
			return nil, Invalid("got %T, want object", v)
		}
		wide, err := inspect(content)
		if err != nil {
			return nil, err
		}
		if wide {
			if err := mismatch(content, P(new(T))); err != nil {
				return nil, err
			}
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &typed, true); err != nil {
			return nil, explain(content, P(new(T)), err)
		}
		return appendMarshalled(b, P(&typed))
	}}
}

// value converts a value with a special JSON form, such as a time.
func value[T any, P interface {
	marshaler[T]
	json.Unmarshaler
}]() kubernetesMessage {
	return kubernetesMessage{reflect.TypeFor[T](), func(b []byte, v any) ([]byte, error) {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, Invalid("%v", err)
		}
		var typed T
		if err := P(&typed).UnmarshalJSON(raw); err != nil {
			return nil, Invalid("%v", err)
		}
		return appendMarshalled(b, P(&typed))
	}}
}

// explain returns an error that names the field of a failed conversion, which the converter does
// not name. It decodes again, for invalid objects only.
func explain(content map[string]any, into any, err error) error {
	if typeErr := mismatch(content, into); typeErr != nil {
		return typeErr
	}
	raw, encodeErr := json.Marshal(content)
	if encodeErr != nil {
		return Invalid("%v", err)
	}
	unknown, decodeErr := kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields)
	var field kjson.FieldError
	if decodeErr == nil && len(unknown) > 0 && errors.As(unknown[0], &field) {
		return fieldError(field.FieldPath(), "unknown field")
	}
	return Invalid("%v", err)
}

// mismatch returns an error that names a value of the wrong type or out of range, or nil.
func mismatch(content map[string]any, into any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return Invalid("%v", err)
	}
	if typeErr, ok := errors.AsType[*json.UnmarshalTypeError](json.Unmarshal(raw, into)); ok {
		return fieldError(typeErr.Field, fmt.Sprintf("got %s, want %v", typeErr.Value, typeErr.Type))
	}
	return nil
}

func appendMarshalled(b []byte, m interface{ Marshal() ([]byte, error) }) ([]byte, error) {
	raw, err := m.Marshal()
	if err != nil {
		return nil, fmt.Errorf("marshal: %w", err)
	}
	return append(b, raw...), nil
}
