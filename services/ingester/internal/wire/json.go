package wire

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Parts are the parts of an object: its metadata by type, spec and status as trees.
type Parts struct {
	TypeMeta     metav1.TypeMeta
	Metadata     *metav1.ObjectMeta
	Spec, Status map[string]any
}

// EncodeParts returns the protobuf form of a whole object. It is the same as that of
// [Encoder.Encode] of the whole tree, and costs a quarter.
func (e *Encoder) EncodeParts(p *Parts) ([]byte, error) {
	b := make([]byte, 0, 1024)
	var err error
	if p.TypeMeta.Kind == "" || p.TypeMeta.APIVersion == "" {
		return nil, fieldError("kind", "apiVersion and kind are required")
	}
	if b, err = appendSizedMarshalled(b, typeMetaNumber, &p.TypeMeta); err != nil {
		return nil, err
	}
	if b, err = appendSizedMarshalled(b, metadataNumber, p.Metadata); err != nil {
		return nil, err
	}
	if b, err = e.appendTree(b, specNumber, "spec", p.Spec, e.spec.append); err != nil {
		return nil, err
	}
	return e.appendTree(b, statusNumber, "status", p.Status, e.status.append)
}

func (e *Encoder) appendTree(b []byte, n protowire.Number, key string, tree map[string]any, f encodeFunc) ([]byte, error) {
	b = protowire.AppendTag(b, n, protowire.BytesType)
	out, err := appendSized(b, tree, f)
	return out, Within(key, err)
}

// sized is a message of Kubernetes that marshals itself.
type sized interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

func appendSizedMarshalled(b []byte, n protowire.Number, m sized) ([]byte, error) {
	size := m.Size()
	b = protowire.AppendTag(b, n, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size)) //nolint:gosec // a size is never negative
	start := len(b)
	b = append(b, make([]byte, size)...)
	if _, err := m.MarshalToSizedBuffer(b[start:]); err != nil {
		return nil, fmt.Errorf("marshal: %w", err)
	}
	return b, nil
}

// Metadata reads an object's metadata. A key that metadata does not have is an error.
func Metadata(text []byte) (*metav1.ObjectMeta, error) {
	m := &metav1.ObjectMeta{}
	if len(text) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(text, m, json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(true)); err != nil {
		return nil, Within("metadata", located(err))
	}
	return m, nil
}

// located converts an error of the JSON library to a FieldError.
func located(err error) error {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		reason := "has the wrong type"
		switch {
		case errors.Is(err, json.ErrUnknownName):
			reason = "unknown field"
		case semantic.Err != nil:
			reason = semantic.Err.Error()
		}
		return &FieldError{Path: dotted(semantic.JSONPointer), Reason: reason}
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return &FieldError{Path: dotted(syntactic.JSONPointer), Reason: syntactic.Err.Error()}
	}
	return err
}

// dotted converts a JSON pointer to the notation of FieldError, for example "a.b[2]".
func dotted(pointer jsontext.Pointer) string {
	var b strings.Builder
	for token := range pointer.Tokens() {
		switch _, err := strconv.ParseUint(token, 10, 31); {
		case err == nil:
			b.WriteString("[" + token + "]")
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return b.String()
}
