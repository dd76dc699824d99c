package wire

import (
	"fmt"
	"sort"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// encodeKeyFunc appends the key of a map entry.
type encodeKeyFunc func(b []byte, key string) ([]byte, error)

// compiler compiles descriptors to messages, each once: messages may contain themselves.
type compiler struct {
	messages map[protoreflect.FullName]*message
}

func (c *compiler) compile(d protoreflect.MessageDescriptor) (*message, error) {
	if m, ok := c.messages[d.FullName()]; ok {
		return m, nil
	}
	m := &message{name: d.FullName(), known: map[string]int{}, oneofs: d.Oneofs().Len()}
	c.messages[d.FullName()] = m
	for i := range d.Fields().Len() {
		f, err := c.field(d.Fields().Get(i))
		if err != nil {
			return nil, fmt.Errorf("field %q: %w", d.Fields().Get(i).FullName(), err)
		}
		m.fields = append(m.fields, f)
	}
	sort.Slice(m.fields, func(i, j int) bool { return m.fields[i].number < m.fields[j].number })
	for i, f := range m.fields {
		m.fields[i].always = isObject(d)
		m.known[f.jsonName] = i
		m.known[f.protoName] = i
	}
	return m, nil
}

// isObject reports whether a message is a whole object inside another, such as the
// pipeline of a run: its four parts are always written, as those of the outer object.
func isObject(d protoreflect.MessageDescriptor) bool {
	metadata := d.Fields().ByName("metadata")
	return d.Fields().ByName("type_meta") != nil && metadata != nil && metadata.Number() == metadataNumber
}

func (c *compiler) field(d protoreflect.FieldDescriptor) (field, error) {
	f := field{jsonName: d.JSONName(), protoName: string(d.Name()), number: d.Number()}
	if oneof := d.ContainingOneof(); oneof != nil && !oneof.IsSynthetic() {
		f.oneof = oneof.Index() + 1
	}
	if d.IsMap() {
		return c.mapField(f, d)
	}
	s, err := c.scalar(d)
	if err != nil {
		return field{}, err
	}
	f.encode, f.wireType = s.encode, s.wireType
	switch {
	case d.IsPacked():
		f.shape = packed
	case d.Cardinality() == protoreflect.Repeated:
		f.shape = repeated
	case !d.HasPresence():
		f.isZero = s.isZero
	}
	return f, nil
}

func (c *compiler) mapField(f field, d protoreflect.FieldDescriptor) (field, error) {
	value, err := c.scalar(d.MapValue())
	if err != nil {
		return field{}, err
	}
	f.shape, f.encode, f.wireType = mapped, value.encode, value.wireType
	key, err := c.scalar(d.MapKey())
	if err != nil {
		return field{}, err
	}
	f.keyType = key.wireType
	switch d.MapKey().Kind() {
	case protoreflect.StringKind:
		f.key = func(b []byte, k string) ([]byte, error) { return appendSized(b, k, key.encode) }
	case protoreflect.BoolKind:
		f.key = func(b []byte, k string) ([]byte, error) {
			v, err := strconv.ParseBool(k)
			if err != nil {
				return nil, Invalid("key %q is not a boolean", k)
			}
			return key.encode(b, v)
		}
	default: // integers: the scalar accepts text
		f.key = func(b []byte, k string) ([]byte, error) { return key.encode(b, k) }
	}
	return f, nil
}

// messageFunc chooses how a message is encoded: by its Kubernetes Go type, as a
// well-known type, or field by field.
func (c *compiler) messageFunc(d protoreflect.MessageDescriptor) (encodeFunc, error) {
	if k, ok := kubernetes[d.FullName()]; ok {
		return k.encode, nil
	}
	if f, ok := wellKnown[d.FullName()]; ok {
		return f, nil
	}
	if pkg := d.ParentFile().Package(); pkg == "google.protobuf" || d.ParentFile().Syntax() == protoreflect.Proto2 {
		return nil, fmt.Errorf("message %q has no encoder: add it to the table in kubernetes.go or wellknown.go", d.FullName())
	}
	m, err := c.compile(d)
	if err != nil {
		return nil, err
	}
	return m.append, nil
}

// scalar describes one element of a field.
type scalar struct {
	encode   encodeFunc
	wireType protowire.Type
	isZero   func(any) bool
}

func (c *compiler) scalar(d protoreflect.FieldDescriptor) (scalar, error) {
	switch d.Kind() {
	case protoreflect.MessageKind:
		f, err := c.messageFunc(d.Message())
		return scalar{encode: f, wireType: protowire.BytesType}, err
	case protoreflect.EnumKind:
		return scalar{encode: enumFunc(d.Enum()), wireType: protowire.VarintType, isZero: enumZero(d.Enum())}, nil
	}
	s, ok := scalars[d.Kind()]
	if !ok {
		return scalar{}, fmt.Errorf("kind %v has no JSON form here", d.Kind())
	}
	return s, nil
}
