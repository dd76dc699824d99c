package wire

import (
	"fmt"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// encodeFunc appends the payload of one value: for a message its fields, without tag and length.
type encodeFunc func(b []byte, value any) ([]byte, error)

// message is the compiled form of a message: the encoding of each JSON key.
type message struct {
	name   protoreflect.FullName
	fields []field // by number
	known  map[string]int
	oneofs int
}

// field is the compiled form of a field.
type field struct {
	jsonName, protoName string
	number              protowire.Number
	wireType            protowire.Type
	encode              encodeFunc // one element
	isZero              func(any) bool
	oneof               int // index of the oneof plus one; 0 = none
	shape               shape
	always              bool          // written even when absent
	key                 encodeKeyFunc // of a map
	keyType             protowire.Type
}

type shape int

const (
	single shape = iota
	repeated
	packed
	mapped
)

// append implements encodeFunc for the message.
func (m *message) append(b []byte, value any) ([]byte, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, Invalid("got %T, want object", value)
	}
	used := 0
	var oneofSeen string
	seen := make([]string, m.oneofs+1)
	for i := range m.fields {
		f := &m.fields[i]
		v, name, found := f.lookup(object)
		if found {
			used++
		}
		if v == nil && f.always {
			v, name = map[string]any{}, f.jsonName
		}
		if v == nil {
			continue
		}
		if f.oneof > 0 {
			if oneofSeen = seen[f.oneof]; oneofSeen != "" {
				return nil, fieldError(name, fmt.Sprintf("only one of %s and %s may be set", oneofSeen, name))
			}
			seen[f.oneof] = name
		}
		var err error
		if b, err = f.append(b, v); err != nil {
			return nil, Within(name, err)
		}
	}
	if used != len(object) {
		return nil, m.unknown(object)
	}
	return b, nil
}

// lookup finds the field by its JSON name or, as protobuf's JSON mapping allows, by its proto name.
func (f *field) lookup(object map[string]any) (value any, name string, found bool) {
	if v, ok := object[f.jsonName]; ok {
		return v, f.jsonName, true
	}
	if f.protoName != f.jsonName {
		if v, ok := object[f.protoName]; ok {
			return v, f.protoName, true
		}
	}
	return nil, "", false
}

// unknown returns an error that names the first key, in alphabetical order, without a field.
func (m *message) unknown(object map[string]any) error {
	claimed := map[int]string{}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		index, ok := m.known[key]
		if !ok {
			return fieldError(key, fmt.Sprintf("unknown field of %s", m.name))
		}
		if other, duplicate := claimed[index]; duplicate {
			return fieldError(key, fmt.Sprintf("the same field as %s", other))
		}
		claimed[index] = key
	}
	return nil
}

func (f *field) append(b []byte, v any) ([]byte, error) {
	switch f.shape {
	case repeated:
		return f.appendRepeated(b, v)
	case packed:
		return f.appendPacked(b, v)
	case mapped:
		return f.appendMap(b, v)
	default:
		if f.isZero != nil && f.isZero(v) {
			return b, nil // proto3 does not write zero values of plain fields
		}
		b = protowire.AppendTag(b, f.number, f.wireType)
		return f.appendElement(b, v)
	}
}

func (f *field) appendElement(b []byte, v any) ([]byte, error) {
	if f.wireType == protowire.BytesType {
		return appendSized(b, v, f.encode)
	}
	return f.encode(b, v)
}

func (f *field) appendRepeated(b []byte, v any) ([]byte, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, Invalid("got %T, want list", v)
	}
	for i, element := range list {
		if element == nil {
			return nil, fieldError(fmt.Sprintf("[%d]", i), "null in a list")
		}
		var err error
		b = protowire.AppendTag(b, f.number, f.wireType)
		if b, err = f.appendElement(b, element); err != nil {
			return nil, Within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return b, nil
}

func (f *field) appendPacked(b []byte, v any) ([]byte, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, Invalid("got %T, want list", v)
	}
	if len(list) == 0 {
		return b, nil
	}
	b = protowire.AppendTag(b, f.number, protowire.BytesType)
	return appendSized(b, list, func(b []byte, _ any) ([]byte, error) {
		for i, element := range list {
			var err error
			if b, err = f.encode(b, element); err != nil {
				return nil, Within(fmt.Sprintf("[%d]", i), err)
			}
		}
		return b, nil
	})
}

// appendMap writes the entries in the order of their keys; key and value of an
// entry are always written, as protobuf's own generated code does.
func (f *field) appendMap(b []byte, v any) ([]byte, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, Invalid("got %T, want object", v)
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		entry := func(b []byte, value any) ([]byte, error) {
			b = protowire.AppendTag(b, 1, f.keyType)
			b, err := f.key(b, key)
			if err != nil {
				return nil, err
			}
			if value == nil {
				return nil, Invalid("null in a map")
			}
			b = protowire.AppendTag(b, 2, f.wireType)
			return f.appendElement(b, value)
		}
		var err error
		b = protowire.AppendTag(b, f.number, protowire.BytesType)
		if b, err = appendSized(b, object[key], entry); err != nil {
			return nil, Within(key, err)
		}
	}
	return b, nil
}
