package registry

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// ColumnType defines how a column's value is read from the object.
type ColumnType int

// Column types.
const (
	Text ColumnType = iota // string
	Enum                   // the value's name, for example MODEL_KIND_CUSTOM
	Int                    // 32 or 64 bits
	Float
	Bool
	Time // DATETIME(6), UTC
)

// Column is an indexed column.
type Column struct {
	Name string
	Type ColumnType
	// SQLType is the column's type in MySQL, for example "VARCHAR(255)".
	SQLType string
	// Width is the greatest length of a Text or Enum column in characters.
	Width int
	// ProtoPath is the path of the option, for selectors and docs: "spec.owner.name".
	ProtoPath string
	// Path leads from the kind's message to the value. All but the last are messages.
	Path []protoreflect.FieldDescriptor
}

// Messages with a meaning of their own in an index path.
const (
	identifierMessage = "michelangelo.api.ResourceIdentifier"
	timestampMessage  = "google.protobuf.Timestamp"
	kubeTimeMessage   = "k8s.io.apimachinery.pkg.apis.meta.v1.Time"
)

const defaultWidth = 255

// newColumns returns the columns of one index option: two for a ResourceIdentifier, else one.
func newColumns(m protoreflect.MessageDescriptor, o indexOptions) ([]Column, error) {
	if !identifier.MatchString(o.key) {
		return nil, fmt.Errorf("key is not a valid SQL identifier")
	}
	path, err := resolve(m, o.path)
	if err != nil {
		return nil, err
	}
	leaf := path[len(path)-1]
	if leaf.Message() == nil || leaf.Message().FullName() != identifierMessage {
		c, err := newColumn(o.key, o.path, path, o.sqlType)
		return []Column{c}, err
	}
	var out []Column
	for _, part := range []string{"namespace", "name"} {
		full := append(append([]protoreflect.FieldDescriptor{}, path...), leaf.Message().Fields().ByName(protoreflect.Name(part)))
		c, err := newColumn(o.key+"_"+part, o.path+"."+part, full, o.sqlType)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func newColumn(name, protoPath string, path []protoreflect.FieldDescriptor, sqlType string) (Column, error) {
	c := Column{Name: name, ProtoPath: protoPath, Path: path, SQLType: sqlType}
	derived, err := c.derive(path[len(path)-1])
	if err != nil {
		return Column{}, err
	}
	if c.SQLType == "" {
		c.SQLType = derived
	}
	if c.Type == Text || c.Type == Enum {
		if c.Width, err = varcharWidth(c.SQLType); err != nil {
			return Column{}, err
		}
	}
	return c, nil
}

// derive sets the column's type and returns the SQL type that follows from the field.
func (c *Column) derive(leaf protoreflect.FieldDescriptor) (string, error) {
	if leaf.Cardinality() == protoreflect.Repeated {
		return "", fmt.Errorf("field %q is repeated", leaf.FullName())
	}
	switch leaf.Kind() {
	case protoreflect.StringKind:
		c.Type = Text
		return fmt.Sprintf("VARCHAR(%d)", defaultWidth), nil
	case protoreflect.EnumKind:
		c.Type = Enum
		return fmt.Sprintf("VARCHAR(%d)", defaultWidth), nil
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		c.Type = Int
		return "INT", nil
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		c.Type = Int
		return "BIGINT", nil
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		c.Type = Float
		return "DOUBLE", nil
	case protoreflect.BoolKind:
		c.Type = Bool
		return "TINYINT(1)", nil
	case protoreflect.MessageKind:
		switch leaf.Message().FullName() {
		case timestampMessage, kubeTimeMessage:
			c.Type = Time
			return "DATETIME(6)", nil
		}
	}
	return "", fmt.Errorf("field %q of kind %v cannot be indexed", leaf.FullName(), leaf.Kind())
}

// resolve walks a path of proto names.
func resolve(m protoreflect.MessageDescriptor, path string) ([]protoreflect.FieldDescriptor, error) {
	var out []protoreflect.FieldDescriptor
	for name := range strings.SplitSeq(path, ".") {
		if m == nil {
			return nil, fmt.Errorf("path %q continues after a field that is not a message", path)
		}
		field := m.Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return nil, fmt.Errorf("path %q: message %q has no field %q", path, m.FullName(), name)
		}
		out = append(out, field)
		m = field.Message()
	}
	return out, nil
}

var varchar = regexp.MustCompile(`^VARCHAR\((\d+)\)$`)

func varcharWidth(sqlType string) (int, error) {
	match := varchar.FindStringSubmatch(sqlType)
	if match == nil {
		return 0, fmt.Errorf("type %q of a text column is not VARCHAR(n)", sqlType)
	}
	var width int
	if _, err := fmt.Sscan(match[1], &width); err != nil {
		return 0, fmt.Errorf("width of %q: %w", sqlType, err)
	}
	return width, nil
}
