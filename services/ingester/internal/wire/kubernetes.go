package wire

import (
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// kubernetes are the messages of Kubernetes that kinds may use. A new one is one line.
var kubernetes = map[protoreflect.FullName]encodeFunc{
	"k8s.io.api.core.v1.PodTemplateSpec":                 object[corev1.PodTemplateSpec](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.Condition":     object[metav1.Condition](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.LabelSelector": object[metav1.LabelSelector](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta":    object[metav1.ObjectMeta](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.Time":          value[metav1.Time](),
	"k8s.io.apimachinery.pkg.apis.meta.v1.TypeMeta":      object[metav1.TypeMeta](),
}

type marshaler[T any] interface {
	*T
	Marshal() ([]byte, error)
}

// object converts a JSON object to its Go type. A key that the type does not have is an error.
func object[T any, P marshaler[T]]() encodeFunc {
	return func(b []byte, v any) ([]byte, error) {
		content, ok := v.(map[string]any)
		if !ok {
			return nil, Invalid("want an object, have %T", v)
		}
		var typed T
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &typed, true); err != nil {
			return nil, Invalid("%v", err)
		}
		return appendMarshalled(b, P(&typed))
	}
}

// value converts a value with a JSON form of its own, such as a time.
func value[T any, P interface {
	marshaler[T]
	json.Unmarshaler
}]() encodeFunc {
	return func(b []byte, v any) ([]byte, error) {
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, Invalid("%v", err)
		}
		var typed T
		if err := P(&typed).UnmarshalJSON(raw); err != nil {
			return nil, Invalid("%v", err)
		}
		return appendMarshalled(b, P(&typed))
	}
}

func appendMarshalled(b []byte, m interface{ Marshal() ([]byte, error) }) ([]byte, error) {
	raw, err := m.Marshal()
	if err != nil {
		return nil, fmt.Errorf("marshal: %w", err)
	}
	return append(b, raw...), nil
}
