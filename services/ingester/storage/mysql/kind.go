package mysql

import (
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	raw "github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", storage.ErrInvalid, fmt.Sprintf(format, args...))
}

// kindOf returns the kind that an object's TypeMeta names, or else the scheme.
func (s *Storage) kindOf(object runtime.Object) (*registry.Kind, error) {
	if isNil(object) {
		return nil, invalid("object must not be nil")
	}
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.Empty() && s.options.Scheme != nil {
		if known, _, err := s.options.Scheme.ObjectKinds(object); err == nil && len(known) > 0 {
			gvk = known[0]
		}
	}
	return s.lookup(gvk)
}

// kindNamed returns the kind of a TypeMeta; an empty apiVersion means api.GroupVersion.
func (s *Storage) kindNamed(typeMeta *metav1.TypeMeta) (*registry.Kind, error) {
	if typeMeta == nil {
		return nil, invalid("typeMeta must name a kind")
	}
	gvk := typeMeta.GroupVersionKind()
	if typeMeta.APIVersion == "" {
		gvk.Group, gvk.Version = api.Group, api.Version
	}
	return s.lookup(gvk)
}

func (s *Storage) lookup(gvk schema.GroupVersionKind) (*registry.Kind, error) {
	kind, ok := s.kinds.Lookup(gvk.Kind)
	if !ok || gvk.Group != api.Group || gvk.Version != api.Version {
		return nil, invalid("kind %q of %q is not registered", gvk.Kind, gvk.GroupVersion())
	}
	return kind, nil
}

func isNil(object runtime.Object) bool {
	if object == nil {
		return true
	}
	v := reflect.ValueOf(object)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// content returns the object as JSON content with its kind. The caller's object is not changed.
func (s *Storage) content(object runtime.Object) (*unstructured.Unstructured, *registry.Kind, error) {
	kind, err := s.kindOf(object)
	if err != nil {
		return nil, nil, err
	}
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, kind, nil
	}
	if sent, ok := object.(*raw.Object); ok {
		u, err := sent.Unstructured()
		return u, kind, err
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", storage.ErrRejected, err)
	}
	u := &unstructured.Unstructured{Object: m}
	u.SetGroupVersionKind(kind.GVK())
	return u, kind, nil
}

// decode creates an object from stored content: a typed one if the scheme has the kind, otherwise
// an unstructured one. strip may change the content before that.
func (s *Storage) decode(kind *registry.Kind, text []byte, strip func(map[string]any)) (runtime.Object, error) {
	content := map[string]any{}
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return nil, fmt.Errorf("decode the content of a %s: %w", kind.Name, err)
	}
	if strip != nil {
		strip(content)
	}
	if s.options.Scheme == nil || !s.options.Scheme.Recognizes(kind.GVK()) {
		return &unstructured.Unstructured{Object: content}, nil
	}
	object, err := s.options.Scheme.New(kind.GVK())
	if err != nil {
		return nil, fmt.Errorf("create object of kind %s: %w", kind.Name, err)
	}
	if text, err = json.Marshal(content); err != nil {
		return nil, fmt.Errorf("encode the content of a %s: %w", kind.Name, err)
	}
	return object, fill(object, text)
}

// fill replaces an object by stored content. Decoding alone would keep fields that the content
// does not have, such as the labels of the previous object.
func fill(object runtime.Object, text []byte) error {
	fresh := reflect.New(reflect.TypeOf(object).Elem())
	if err := json.Unmarshal(text, fresh.Interface()); err != nil {
		return fmt.Errorf("decode the stored content: %w", err)
	}
	reflect.ValueOf(object).Elem().Set(fresh.Elem())
	return nil
}
