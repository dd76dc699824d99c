package asyncapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// base is the base URL of the document for references; nothing is fetched from it.
const base = "https://flotilla.dev/events/"

// headerMarkerReason is the header of the messages with which the server replaces expired ones.
const headerMarkerReason = "Nats-Marker-Reason"

// ErrUnknownSubject is returned if the document has no channel for a subject.
var ErrUnknownSubject = errors.New("no channel of the document has this subject")

// Document is asyncapi.yaml and its schemas.
type Document struct {
	channels []channel
}

type channel struct {
	name     string
	address  *regexp.Regexp
	messages map[string]message
}

// message has a nil payload where the document leaves the body open.
type message struct {
	headers, payload *jsonschema.Schema
}

// asyncAPI holds the fields of the document that the checks use; Decode ignores all others.
type asyncAPI struct {
	Channels map[string]struct {
		Address    string               `json:"address"`
		Parameters map[string]parameter `json:"parameters"`
		Messages   map[string]reference `json:"messages"`
	} `json:"channels"`
	Components struct {
		Parameters map[string]parameter       `json:"parameters"`
		Messages   map[string]json.RawMessage `json:"messages"`
		Traits     map[string]json.RawMessage `json:"messageTraits"`
	} `json:"components"`
}

type reference struct {
	Ref string `json:"$ref"`
}

type parameter struct {
	reference
	Enum []string `json:"enum"`
}

// Load reads a document and its schemas: asyncapi.yaml and schemas/*.json of a directory.
func Load(files fs.FS) (*Document, error) {
	raw, err := fs.ReadFile(files, "asyncapi.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	text, err := yaml.YAMLToJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	var doc asyncAPI
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	compiler, err := newCompiler(files, text)
	if err != nil {
		return nil, err
	}
	d := &Document{}
	for name, c := range doc.Channels {
		address, err := pattern(c.Address, c.Parameters, doc.Components.Parameters)
		if err != nil {
			return nil, fmt.Errorf("channel %q: %w", name, err)
		}
		ch := channel{name: name, address: address, messages: map[string]message{}}
		for _, m := range c.Messages {
			key := path.Base(m.Ref)
			if ch.messages[key], err = compile(compiler, &doc, key); err != nil {
				return nil, fmt.Errorf("message %q: %w", key, err)
			}
		}
		d.channels = append(d.channels, ch)
	}
	return d, nil
}

// newCompiler returns a compiler for the document and its schemas. It loads no other resources.
func newCompiler(files fs.FS, document []byte) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	schemas, err := fs.ReadDir(files, "schemas")
	if err != nil {
		return nil, fmt.Errorf("list the schemas: %w", err)
	}
	resources := map[string][]byte{"asyncapi.yaml": document}
	for _, f := range schemas {
		name := "schemas/" + f.Name()
		if resources[name], err = fs.ReadFile(files, name); err != nil {
			return nil, fmt.Errorf("read schema: %w", err)
		}
	}
	for name, raw := range resources {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", name, err)
		}
		if err := c.AddResource(base+name, doc); err != nil {
			return nil, fmt.Errorf("add %q: %w", name, err)
		}
	}
	return c, nil
}

// compile returns the schemas of a message's payload and headers; the headers may be defined in a trait.
func compile(c *jsonschema.Compiler, doc *asyncAPI, key string) (message, error) {
	var parts struct {
		Headers, Payload json.RawMessage
		Traits           []reference
	}
	if err := json.Unmarshal(doc.Components.Messages[key], &parts); err != nil {
		return message{}, fmt.Errorf("read: %w", err)
	}
	at := base + "asyncapi.yaml#/components/"
	headers := at + "messages/" + key + "/headers"
	if len(parts.Traits) > 0 {
		headers = at + "messageTraits/" + path.Base(parts.Traits[0].Ref) + "/headers"
	}
	var m message
	var err error
	if len(parts.Headers) > 0 || len(parts.Traits) > 0 {
		if m.headers, err = c.Compile(headers); err != nil {
			return message{}, fmt.Errorf("compile headers: %w", err)
		}
	}
	if len(parts.Payload) > 0 {
		if m.payload, err = c.Compile(at + "messages/" + key + "/payload"); err != nil {
			return message{}, fmt.Errorf("compile payload: %w", err)
		}
	}
	return m, nil
}

var variable = regexp.MustCompile(`\\\{([a-zA-Z]+)\\\}`)

// pattern converts an address to a regular expression that matches its subjects.
func pattern(address string, parameters, shared map[string]parameter) (*regexp.Regexp, error) {
	var unknown error
	expression := variable.ReplaceAllStringFunc(regexp.QuoteMeta(address), func(v string) string {
		name := variable.FindStringSubmatch(v)[1]
		p, ok := parameters[name]
		if !ok {
			unknown = fmt.Errorf("parameter %q is not described", name)
		}
		if p.Ref != "" {
			p = shared[path.Base(p.Ref)]
		}
		if len(p.Enum) == 0 {
			return `[A-Za-z0-9_-]+`
		}
		return "(?:" + strings.Join(p.Enum, "|") + ")"
	})
	if unknown != nil {
		return nil, unknown
	}
	return regexp.Compile("^" + expression + "$")
}

// Channels returns the names of the channels that a subject belongs to, in no order.
func (d *Document) Channels(subject string) []string {
	var names []string
	for _, c := range d.channels {
		if c.address.MatchString(subject) {
			names = append(names, c.name)
		}
	}
	return names
}

// Check returns an error that describes how a message differs from the document.
func (d *Document) Check(subject string, header map[string][]string, body []byte) error {
	for _, c := range d.channels {
		if !c.address.MatchString(subject) {
			continue
		}
		if err := c.check(header, body); err != nil {
			return fmt.Errorf("message on %q: %w", subject, err)
		}
		return nil
	}
	return fmt.Errorf("%w: %q", ErrUnknownSubject, subject)
}

func (c channel) check(header map[string][]string, body []byte) error {
	if marker, ok := c.messages["marker"]; ok && len(header[headerMarkerReason]) > 0 {
		if len(body) > 0 {
			return errors.New("a marker has a body")
		}
		return marker.check(header, body)
	}
	for key, m := range c.messages {
		if key != "marker" {
			return m.check(header, body)
		}
	}
	return fmt.Errorf("channel %q has no message", c.name)
}

func (m message) check(header map[string][]string, body []byte) error {
	if m.headers != nil {
		flat := map[string]any{}
		for key, values := range header {
			flat[key] = strings.Join(values, ",")
		}
		if err := m.headers.Validate(flat); err != nil {
			return fmt.Errorf("headers: %w", err)
		}
	}
	if m.payload == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if err := m.payload.Validate(value); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	return nil
}
