package index

import (
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

// Values returns the values of the kind's indexed columns, in the order of kind.Columns.
func Values(kind *registry.Kind, object map[string]any) ([]any, error) {
	out := make([]any, len(kind.Columns))
	for i := range kind.Columns {
		v, err := value(&kind.Columns[i], object)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func value(c *registry.Column, object map[string]any) (any, error) {
	last := len(c.Path) - 1
	for depth, field := range c.Path[:last] {
		child, found := lookup(object, field)
		next, ok := child.(map[string]any)
		switch {
		case ok:
			object = next
		case found && child != nil:
			return nil, fieldError(c, "got %T, want object", child)
		case depth == 0: // metadata, spec and status are never absent
			object = nil
		default:
			return nil, nil // NULL
		}
	}
	leaf, _ := lookup(object, c.Path[last])
	v, err := convert(c, c.Path[last], leaf)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(string); ok && utf8.RuneCountInString(s) > c.Width {
		return nil, fieldError(c, "must have at most %d characters (column %s)", c.Width, c.Name)
	}
	return v, nil
}

func lookup(object map[string]any, field protoreflect.FieldDescriptor) (any, bool) {
	if v, ok := object[field.JSONName()]; ok {
		return v, true
	}
	v, ok := object[string(field.Name())]
	return v, ok
}

func convert(c *registry.Column, field protoreflect.FieldDescriptor, v any) (any, error) {
	var out any
	var err error
	switch c.Type {
	case registry.Text:
		return textValue(c, v)
	case registry.Enum:
		var value protoreflect.EnumValueDescriptor
		if v == nil {
			v = int64(0)
		}
		if value, err = wire.EnumValue(field.Enum(), v); err == nil {
			out = string(value.Name())
		}
	case registry.Int:
		bits := 64
		if field.Kind() == protoreflect.Int32Kind {
			bits = 32
		}
		if v == nil {
			return int64(0), nil
		}
		out, err = wire.Int(v, bits)
	case registry.Float:
		if v == nil {
			return float64(0), nil
		}
		out, err = wire.Float(v)
	case registry.Bool:
		return boolValue(c, v)
	case registry.Time:
		if v == nil {
			return nil, nil // NULL
		}
		out, err = timeValue(v)
	}
	return out, wire.Within(path(c), err)
}

// timeValue truncates a time to the precision of its column. The driver would store fractions of the first microsecond as
// the year 1, and the zero time as '0000-00-00', but it reads both as the zero time.
func timeValue(v any) (time.Time, error) {
	t, err := wire.Time(v)
	return t.Truncate(time.Microsecond), err
}

func textValue(c *registry.Column, v any) (any, error) {
	if v == nil {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, fieldError(c, "got %T, want string", v)
	}
	if !utf8.ValidString(s) {
		return nil, fieldError(c, "text is not valid UTF-8")
	}
	return s, nil
}

func boolValue(c *registry.Column, v any) (any, error) {
	if v == nil {
		return false, nil
	}
	b, ok := v.(bool)
	if !ok {
		return nil, fieldError(c, "got %T, want boolean", v)
	}
	return b, nil
}

func fieldError(c *registry.Column, format string, args ...any) error {
	return wire.Within(path(c), wire.Invalid(format, args...))
}

// path returns the JSON path of the column's field.
func path(c *registry.Column) string {
	names := make([]string, 0, len(c.Path))
	for _, field := range c.Path {
		names = append(names, field.JSONName())
	}
	return strings.Join(names, ".")
}
