package crd

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

type props = apiextensionsv1.JSONSchemaProps

func root(kind *registry.Kind) (*props, error) {
	out := &props{
		Type:        "object",
		Description: kind.Description,
		Properties: map[string]props{
			"apiVersion": {Type: "string"},
			"kind":       {Type: "string"},
			"metadata":   {Type: "object"},
		},
	}
	for _, part := range []protoreflect.Name{"spec", "status"} {
		s, err := walker{}.message(kind.Message.Fields().ByName(part).Message())
		if err != nil {
			return nil, err
		}
		out.Properties[string(part)] = *s
	}
	return out, nil
}

// walker holds the enclosing messages, to detect recursion.
type walker struct {
	parents []protoreflect.FullName
}

func (w walker) message(d protoreflect.MessageDescriptor) (*props, error) {
	if render, ok := special[d.FullName()]; ok {
		return render(), nil
	}
	if t, ok := wire.GoType(d.FullName()); ok {
		return goType(t)
	}
	for _, parent := range w.parents {
		if parent == d.FullName() {
			return anyObject(), nil
		}
	}
	if d.ParentFile().Syntax() == protoreflect.Proto2 || d.ParentFile().Package() == "google.protobuf" {
		return nil, fmt.Errorf("message %q has no schema: add it to the tables of package wire or in special.go", d.FullName())
	}
	w.parents = append(append([]protoreflect.FullName{}, w.parents...), d.FullName())
	out := &props{Type: "object", Description: comment(d)}
	for i := range d.Fields().Len() {
		field := d.Fields().Get(i)
		s, err := w.field(field)
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", field.FullName(), err)
		}
		if text := comment(field); text != "" {
			s.Description = text
		}
		if out.Properties == nil {
			out.Properties = map[string]props{}
		}
		out.Properties[field.JSONName()] = *s
	}
	return out, nil
}

func (w walker) field(d protoreflect.FieldDescriptor) (*props, error) {
	switch {
	case d.IsMap():
		value, err := w.element(d.MapValue())
		if err != nil {
			return nil, err
		}
		return mapOf(value), nil
	case d.IsList():
		element, err := w.element(d)
		if err != nil {
			return nil, err
		}
		return list(element), nil
	default:
		return w.element(d)
	}
}

func (w walker) element(d protoreflect.FieldDescriptor) (*props, error) {
	switch d.Kind() {
	case protoreflect.MessageKind:
		return w.message(d.Message())
	case protoreflect.EnumKind:
		return enum(d.Enum()), nil
	case protoreflect.BoolKind:
		return &props{Type: "boolean"}, nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return &props{Type: "integer", Format: "int32"}, nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return &props{Type: "string", Pattern: `^[-]?\d{1,19}$`}, nil
	case protoreflect.FloatKind:
		return &props{Type: "number", Format: "float"}, nil
	case protoreflect.DoubleKind:
		return &props{Type: "number", Format: "double"}, nil
	case protoreflect.StringKind:
		return &props{Type: "string"}, nil
	case protoreflect.BytesKind:
		return &props{Type: "string", Format: "byte"}, nil
	}
	return nil, fmt.Errorf("kind %v cannot be expressed in a CRD", d.Kind())
}

func enum(d protoreflect.EnumDescriptor) *props {
	out := &props{Type: "string"}
	for i := range d.Values().Len() {
		out.Enum = append(out.Enum, apiextensionsv1.JSON{Raw: fmt.Appendf(nil, "%q", d.Values().Get(i).Name())})
	}
	return out
}

// comment returns the comment above a declaration as one line.
func comment(d protoreflect.Descriptor) string {
	location := d.ParentFile().SourceLocations().ByDescriptor(d)
	return strings.Join(strings.Fields(location.LeadingComments), " ")
}
