package query

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// skipped is a field that the response omits.
type skipped struct {
	path []step
	// flat means that the path has no list or map, so that the server can omit the field.
	flat bool
}

// step is one JSON key of a path.
type step struct {
	key   string
	isMap bool // of messages: the next key applies to each value
}

const maxSkips = 100

func parseSkips(kind *registry.Kind, paths []string) ([]skipped, error) {
	if len(paths) > maxSkips {
		return nil, invalid("skip list has %d paths, more than %d", len(paths), maxSkips)
	}
	out := make([]skipped, 0, len(paths))
	for _, path := range paths {
		s, ok := resolveSkip(kind.Message, path)
		if !ok {
			return nil, invalid("skip list: kind %s has no field %q", kind.Name, clip(path))
		}
		if s.path[0].key == "typeMeta" || len(s.path) == 1 && s.path[0].key == "metadata" {
			return nil, invalid("skip list: %q cannot be skipped: it identifies the object", path)
		}
		out = append(out, s)
	}
	return out, nil
}

// resolveSkip follows a path of proto names, or of JSON names, through messages and lists and maps of them.
func resolveSkip(m protoreflect.MessageDescriptor, path string) (skipped, bool) {
	s := skipped{flat: true}
	names := strings.Split(path, ".")
	for i, name := range names {
		if m == nil {
			return s, false
		}
		field := fieldCalled(m, name)
		if field == nil {
			return s, false
		}
		s.path = append(s.path, step{key: field.JSONName(), isMap: field.IsMap()})
		if last := i == len(names)-1; !last && field.Cardinality() == protoreflect.Repeated {
			s.flat = false
		}
		if m = field.Message(); field.IsMap() {
			m = field.MapValue().Message()
		}
		if m != nil && foreign(m) {
			m = nil
		}
	}
	return s, true
}

// foreign reports whether the JSON form of a message may have other keys than the message.
func foreign(m protoreflect.MessageDescriptor) bool {
	pkg := string(m.ParentFile().Package())
	return pkg == "google.protobuf" || strings.HasPrefix(pkg, "k8s.io.") && m.Name() != "ObjectMeta"
}

func fieldCalled(m protoreflect.MessageDescriptor, name string) protoreflect.FieldDescriptor {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if string(f.Name()) == name || f.JSONName() == name || snake(f.JSONName()) == name {
			return f
		}
	}
	return nil
}

// jsonColumn renders the column with the content. The server removes flat skipped fields.
func (p *Plan) jsonColumn(alias string) clause {
	c := clause{alias + ".json", nil}
	for _, s := range p.skips {
		if s.flat {
			c.args = append(c.args, s.jsonPath())
		}
	}
	if len(c.args) > 0 {
		c.sql = "JSON_REMOVE(" + c.sql + ", " + marks(len(c.args)) + ")"
	}
	return c
}

func (s skipped) jsonPath() string {
	var path strings.Builder
	path.WriteString("$")
	for _, step := range s.path {
		path.WriteString(`."` + step.key + `"`)
	}
	return path.String()
}

// Strip removes the skipped fields from an object.
func (p *Plan) Strip(object map[string]any) {
	for _, s := range p.skips {
		strip(object, s.path)
	}
}

func strip(v any, path []step) {
	switch value := v.(type) {
	case []any:
		for _, item := range value {
			strip(item, path)
		}
	case map[string]any:
		if len(path) == 1 {
			delete(value, path[0].key)
			return
		}
		next := value[path[0].key]
		if values, ok := next.(map[string]any); ok && path[0].isMap {
			for _, item := range values {
				strip(item, path[1:])
			}
			return
		}
		strip(next, path[1:])
	}
}
