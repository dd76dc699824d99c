package object

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lenient accepts all output of the API server: content is validated when a record is built from
// the object, where an error concerns that object only and not a whole list.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// Parse reads one object. It keeps data, which the caller must not change afterwards. It
// reads the named annotations only.
func Parse(data []byte, annotations ...string) (*Object, error) {
	p := &parser{data: data, annotations: annotations, object: &Object{JSON: data}}
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(data), lenient...)
	if err := p.members(p.part); err != nil {
		return nil, fmt.Errorf("decode object: %w", err)
	}
	if _, err := p.dec.ReadToken(); err != io.EOF { //nolint:errorlint // ReadToken documents it
		return nil, fmt.Errorf("decode object: more than one value")
	}
	return p.object, nil
}

// parser reads one object.
type parser struct {
	dec         *jsontext.Decoder
	data        []byte
	annotations []string
	object      *Object
}

// members calls member for each member of the object that comes next, after its name.
func (p *parser) members(member func(name []byte) error) error {
	return members(p.dec, member)
}

// members calls member for each member of the object that the decoder reads next. The
// name is valid until member reads on.
func members(dec *jsontext.Decoder, member func(name []byte) error) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() == 'n' {
		return nil
	}
	if token.Kind() != '{' {
		return fmt.Errorf("got %s at %s, want object", token.Kind(), dec.StackPointer())
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if len(name) < 2 { // the quotes
			return fmt.Errorf("want member name at %s", dec.StackPointer())
		}
		if err := member(name[1 : len(name)-1]); err != nil {
			return err
		}
	}
	_, err = dec.ReadToken()
	return err
}

// part reads a member of the object itself.
func (p *parser) part(name []byte) error {
	o := p.object
	switch string(name) {
	case "apiVersion":
		return p.text(&o.APIVersion)
	case "kind":
		return p.text(&o.Kind)
	case "metadata":
		return p.section(&o.metadata, func() error { return p.members(p.meta) })
	case "spec":
		return p.section(&o.spec, p.dec.SkipValue)
	case "status":
		return p.section(&o.status, p.dec.SkipValue)
	}
	o.unknown = string(name)
	return p.dec.SkipValue()
}

// section records the position in the JSON of the value that read consumes.
func (p *parser) section(s *section, read func() error) error {
	kind := p.dec.PeekKind()
	start := int(p.dec.InputOffset())
	if err := read(); err != nil {
		return err
	}
	end := int(p.dec.InputOffset())
	if kind == 'n' {
		*s = section{}
		return nil
	}
	// A colon and white space separate the name and the value.
	for start < end && bytes.IndexByte([]byte(": \t\r\n"), p.data[start]) >= 0 {
		start++
	}
	*s = section{start: start, end: end}
	return nil
}

// meta reads a member of the metadata.
func (p *parser) meta(name []byte) error {
	m := &p.object.ObjectMeta
	switch string(name) {
	case "name":
		return p.text(&m.Name)
	case "namespace":
		return p.text(&m.Namespace)
	case "uid":
		return p.text((*string)(&m.UID))
	case "resourceVersion":
		return p.text(&m.ResourceVersion)
	case "generation":
		return p.number(&m.Generation)
	case "deletionTimestamp":
		return p.deletion()
	case "finalizers":
		return p.finalizers()
	case "annotations":
		return p.members(p.annotation)
	}
	return p.dec.SkipValue()
}

func (p *parser) annotation(name []byte) error {
	i := slices.IndexFunc(p.annotations, func(a string) bool { return a == string(name) })
	if i < 0 {
		return p.dec.SkipValue()
	}
	var value string
	if err := p.text(&value); err != nil {
		return err
	}
	if p.object.Annotations == nil {
		p.object.Annotations = map[string]string{}
	}
	p.object.Annotations[p.annotations[i]] = value
	return nil
}

// text reads a string; null leaves it empty.
func (p *parser) text(into *string) error {
	token, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case '"':
		*into = token.String()
	case 'n':
	default:
		return fmt.Errorf("got %s at %s, want string", token.Kind(), p.dec.StackPointer())
	}
	return nil
}

// number reads an integer. Anything else leaves it zero: package record validates it.
func (p *parser) number(into *int64) error {
	if p.dec.PeekKind() != '0' {
		return p.dec.SkipValue()
	}
	token, err := p.dec.ReadToken()
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(token.String(), 10, 64); err == nil {
		*into = n
	}
	return nil
}

func (p *parser) finalizers() error {
	token, err := p.dec.ReadToken()
	if err != nil || token.Kind() == 'n' {
		return err
	}
	if token.Kind() != '[' {
		return fmt.Errorf("got %s at %s, want list", token.Kind(), p.dec.StackPointer())
	}
	for p.dec.PeekKind() != ']' {
		var one string
		if err := p.text(&one); err != nil {
			return err
		}
		p.object.Finalizers = append(p.object.Finalizers, one)
	}
	_, err = p.dec.ReadToken()
	return err
}

func (p *parser) deletion() error {
	var text string
	if err := p.text(&text); err != nil || text == "" {
		return err
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return fmt.Errorf("metadata.deletionTimestamp: %w", err)
	}
	p.object.DeletionTimestamp = &metav1.Time{Time: at}
	return nil
}
