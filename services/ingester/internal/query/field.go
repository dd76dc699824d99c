package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/schema"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Field is a column that requests can name.
type Field struct {
	Column   string
	Type     registry.ColumnType
	Nullable bool
	// Width is the greatest length in characters of a Text or Enum column.
	Width int
	// Enum describes the values of an Enum column.
	Enum protoreflect.EnumDescriptor
	// names in requests, the preferred one first
	names []string
}

// base are the fields of every kind: identity and times.
var base = []Field{
	{Column: "namespace", names: []string{"metadata.namespace", "namespace"}},
	{Column: "name", names: []string{"metadata.name", "name"}},
	{Column: "uid", names: []string{"metadata.uid", "uid"}},
	{Column: "create_time", Type: registry.Time, names: []string{"metadata.creation_timestamp", "metadata.creationTimestamp", "create_time"}},
	{Column: "update_time", Type: registry.Time, names: []string{"metadata.update_timestamp", "metadata.updateTimestamp", "update_time"}},
}

// Fields lists the fields of a kind that requests may name: the base fields, then the indexed columns.
func Fields(kind *registry.Kind) []Field {
	out := append([]Field{}, base...)
	for i := range kind.Columns {
		out = append(out, indexed(&kind.Columns[i]))
	}
	return out
}

// Names lists the names of a field, the preferred one first: proto path, JSON path, column.
func (f *Field) Names() []string { return f.names }

func indexed(c *registry.Column) Field {
	f := Field{Column: c.Name, Type: c.Type, Nullable: true, Width: c.Width}
	if c.Type == registry.Enum {
		f.Enum = c.Path[len(c.Path)-1].Enum()
	}
	jsonNames := make([]string, 0, len(c.Path))
	for _, step := range c.Path {
		jsonNames = append(jsonNames, step.JSONName())
	}
	path := strings.Join(jsonNames, ".")
	// Kubernetes' own messages have camelCase names in protobuf too: snake case is accepted as well.
	for _, name := range []string{snake(c.ProtoPath), c.ProtoPath, path, c.Name} {
		if !f.called(name) {
			f.names = append(f.names, name)
		}
	}
	return f
}

func (f *Field) called(name string) bool {
	return slices.Contains(f.names, name)
}

// snake converts camelCase to snake_case.
func snake(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) {
			if i > 0 && s[i-1] != '.' && s[i-1] != '_' {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// find returns the field of that name, or an error that lists the fields.
func find(kind *registry.Kind, name string) (*Field, error) {
	fields := Fields(kind)
	known := make([]string, 0, len(fields))
	for i := range fields {
		if fields[i].called(name) {
			return &fields[i], nil
		}
		known = append(known, fields[i].names[0])
	}
	return nil, invalid("unknown or unindexed field %q of kind %s, want one of %s", clip(name), kind.Name, strings.Join(known, ", "))
}

// Indexed returns the indexed column of that name.
func Indexed(kind *registry.Kind, name string) (*Field, int, error) {
	known := make([]string, 0, len(kind.Columns))
	for i := range kind.Columns {
		if kind.Columns[i].Name == name {
			f := indexed(&kind.Columns[i])
			return &f, i, nil
		}
		known = append(known, kind.Columns[i].Name)
	}
	return nil, 0, invalid("unknown indexed column %q of kind %s, want one of [%s]", clip(name), kind.Name, strings.Join(known, ", "))
}

func (f *Field) sql(alias string) string { return alias + "." + schema.Quote(f.Column) }

// invalid returns a storage.ErrInvalid.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", storage.ErrInvalid, fmt.Sprintf(format, args...))
}

// clip shortens text of a caller for errors and logs.
func clip(s string) string {
	const maxLength = 200
	if len(s) <= maxLength {
		return s
	}
	return strings.ToValidUTF8(s[:maxLength], "") + "…"
}
