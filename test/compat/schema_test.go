package compat

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaError validates a value like a reader, which treats unknown enum values as unknown.
func schemaError(t *testing.T, schema, value []byte) error {
	t.Helper()
	if schema == nil {
		t.Fatal("the release does not have the schema")
	}
	doc := parse(t, schema)
	open(doc)
	raw, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("frozen.json", decoded); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("frozen.json")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Validate(instance)
}

// open removes the enums of properties.
func open(node any) {
	m, ok := node.(map[string]any)
	if !ok {
		return
	}
	for _, group := range []string{"properties", "$defs"} {
		all, _ := m[group].(map[string]any)
		for _, child := range all {
			if c, ok := child.(map[string]any); ok {
				delete(c, "enum")
				open(c)
			}
		}
	}
	open(m["items"])
}

func TestRefusalReportsSchemaViolations(t *testing.T) {
	schema := []byte(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["x"]}}}`)
	if err := schemaError(t, schema, []byte(`{"a":"a word of a later release","b":1}`)); err != nil {
		t.Error(err)
	}
	if schemaError(t, schema, []byte(`{"a":1}`)) == nil {
		t.Error("a number was accepted as a string")
	}
}
