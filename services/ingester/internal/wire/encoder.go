package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Field numbers that every kind has.
const (
	typeMetaNumber protowire.Number = 1
	metadataNumber protowire.Number = 2
	specNumber     protowire.Number = 3
	statusNumber   protowire.Number = 4
)

// Encoder encodes objects of one kind. It is safe for concurrent use.
type Encoder struct {
	metadata     encodeFunc
	spec, status *message
}

// NewEncoder compiles the encoder of a kind's message. An error means that the
// message uses a field that has no JSON form here.
func NewEncoder(kind protoreflect.MessageDescriptor) (*Encoder, error) {
	c := compiler{messages: map[protoreflect.FullName]*message{}}
	e := &Encoder{}
	fields := kind.Fields()
	var err error
	if e.metadata, err = c.messageFunc(fields.ByName("metadata").Message()); err != nil {
		return nil, err
	}
	if e.spec, err = c.compile(fields.ByName("spec").Message()); err != nil {
		return nil, err
	}
	if e.status, err = c.compile(fields.ByName("status").Message()); err != nil {
		return nil, err
	}
	return e, nil
}

// Encode returns the protobuf form of a whole object.
func (e *Encoder) Encode(object map[string]any) ([]byte, error) {
	for key := range object {
		switch key {
		case "apiVersion", "kind", "metadata", "spec", "status":
		default:
			return nil, fieldError(key, "unknown field")
		}
	}
	b := make([]byte, 0, 1024)
	b, err := appendTypeMeta(b, object)
	if err != nil {
		return nil, err
	}
	if b, err = e.appendPart(b, metadataNumber, object, "metadata", e.metadata); err != nil {
		return nil, err
	}
	if b, err = e.appendPart(b, specNumber, object, "spec", e.spec.append); err != nil {
		return nil, err
	}
	return e.appendPart(b, statusNumber, object, "status", e.status.append)
}

func (e *Encoder) appendPart(b []byte, n protowire.Number, object map[string]any, key string, f encodeFunc) ([]byte, error) {
	value := object[key]
	if value == nil {
		value = map[string]any{}
	}
	b = protowire.AppendTag(b, n, protowire.BytesType)
	out, err := appendSized(b, value, f)
	return out, Within(key, err)
}

func appendTypeMeta(b []byte, object map[string]any) ([]byte, error) {
	apiVersion, okVersion := object["apiVersion"].(string)
	kind, okKind := object["kind"].(string)
	if !okVersion || !okKind {
		return nil, fieldError("kind", "apiVersion and kind are required")
	}
	meta := metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
	raw, err := meta.Marshal()
	if err != nil {
		return nil, fmt.Errorf("marshal type meta: %w", err)
	}
	b = protowire.AppendTag(b, typeMetaNumber, protowire.BytesType)
	return protowire.AppendBytes(b, raw), nil
}

// appendSized appends the output of f, prefixed with its length.
func appendSized(b []byte, value any, f encodeFunc) ([]byte, error) {
	start := len(b)
	b, err := f(b, value)
	if err != nil {
		return nil, err
	}
	size := len(b) - start
	width := protowire.SizeVarint(uint64(size)) //nolint:gosec // a length is never negative
	for range width {
		b = append(b, 0)
	}
	copy(b[start+width:], b[start:start+size])
	protowire.AppendVarint(b[:start], uint64(size)) //nolint:gosec // a length is never negative
	return b, nil
}
