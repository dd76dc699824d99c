package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

func compile(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaText(t, file)))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddResource(file, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func schemaText(t *testing.T, file string) []byte {
	t.Helper()
	raw, err := contract.Schemas.ReadFile("schemas/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// validate checks the data of a message against the schema that the message names.
func validate(t *testing.T, message []byte) error {
	t.Helper()
	e, err := contract.DecodeEnvelope(message)
	if err != nil {
		t.Fatal(err)
	}
	const base = "https://flotilla.dev/schemas/"
	data, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Data))
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, strings.TrimPrefix(e.DataSchema, base)).Validate(data)
}

func TestMessagesMatchSchemas(t *testing.T) {
	for name, encode := range samples() {
		t.Run(name, func(t *testing.T) {
			message, err := encode()
			if err != nil {
				t.Fatal(err)
			}
			if err := validate(t, message); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSchemasRejectInvalidMessages(t *testing.T) {
	tests := map[string]struct{ sample, old, replacement string }{
		"a missing epoch":                {"observation-full", `"epoch":1763719200000,`, ``},
		"a missing object":               {"observation-full", `"object":`, `"obj":`},
		"a missing count of a unit":      {"observation-full", `"desired":2,`, ``},
		"an unknown role":                {"observation-full", `"role":"serving"`, `"role":"boss"`},
		"an unknown failure":             {"observation-full", `"class":"CrashLoop"`, `"class":"Haunted"`},
		"an unknown outcome":             {"observation-full", `"outcome":"Failed"`, `"outcome":"Perhaps"`},
		"a negative count":               {"observation-full", `"current":3`, `"current":-3`},
		"a time that is none":            {"observation-full", `"observedAt":"2026`, `"observedAt":"yesterday`},
		"a missing interval":             {"heartbeat-full", `"intervalSeconds":10,`, ``},
		"an unknown event":               {"lifecycle-condition", `"event":"unavailable"`, `"event":"odd"`},
		"a condition event without one":  {"lifecycle-condition", `"condition":{`, `"other":{`},
		"a phase event without a phase":  {"lifecycle-phase", `"phase":{`, `"other":{`},
		"a status that is none":          {"lifecycle-condition", `"status":"False"`, `"status":"Maybe"`},
		"a reason with a space":          {"lifecycle-condition", `"reason":"InsufficientReplicas"`, `"reason":"too few"`},
		"a gap that is not marked":       {"lifecycle-deleted", `"event":"deleted"`, `"event":"gap"`},
		"an unknown operation":           {"change-full", `"operation":"restored"`, `"operation":"lost"`},
		"a change without its outbox id": {"change-full", `"outboxId":9,`, ``},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			message, err := samples()[tc.sample]()
			if err != nil {
				t.Fatal(err)
			}
			broken := bytes.Replace(message, []byte(tc.old), []byte(tc.replacement), 1)
			if bytes.Equal(message, broken) {
				t.Fatalf("the sample has no %s", tc.old)
			}
			if err := validate(t, broken); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// The Go types and the schema have the same fields; the schema requires a field unless
// encoding omits it when empty.
func TestSchemasAndTypesHaveSameFields(t *testing.T) {
	for file, payload := range map[string]any{
		"observation.v1.json": contract.Observation{}, "heartbeat.v1.json": contract.Heartbeat{},
		"lifecycle.v1.json": contract.Lifecycle{}, "change.v1.json": contract.Change{},
		"event.v1.json": contract.Event{}, "statusentry.v1.json": contract.StatusEntry{},
	} {
		t.Run(file, func(t *testing.T) {
			var root map[string]any
			if err := json.Unmarshal(schemaText(t, file), &root); err != nil {
				t.Fatal(err)
			}
			if want := "https://flotilla.dev/schemas/" + file; root["$id"] != want {
				t.Errorf("$id is %v, want %s", root["$id"], want)
			}
			for _, problem := range sameFields(root, root, reflect.TypeOf(payload), file) {
				t.Error(problem)
			}
		})
	}
}

func sameFields(root, schema map[string]any, typ reflect.Type, path string) []string {
	if ref, ok := schema["$ref"].(string); ok {
		defs, _ := root["$defs"].(map[string]any)
		schema, ok = defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		if !ok {
			return []string{path + ": no definition " + ref}
		}
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.Uint8 {
		return nil // text, or JSON with its own schema
	}
	if typ.Kind() == reflect.Slice {
		items, ok := schema["items"].(map[string]any)
		if !ok {
			return []string{path + ": no items"}
		}
		return sameFields(root, items, typ.Elem(), path+"[]")
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() == "time" {
		return nil
	}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	var problems []string
	seen := 0
	for _, f := range reflect.VisibleFields(typ) {
		if f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		property, ok := properties[name].(map[string]any)
		if !ok {
			problems = append(problems, fmt.Sprintf("%s.%s is not in the schema", path, name))
			continue
		}
		seen++
		if must := slices.Contains(required, any(name)); must == strings.Contains(options, "omitempty") {
			problems = append(problems, fmt.Sprintf("%s.%s is required: %t, but its tag is %q", path, name, must, f.Tag.Get("json")))
		}
		problems = append(problems, sameFields(root, property, f.Type, path+"."+name)...)
	}
	if seen != len(properties) {
		problems = append(problems, fmt.Sprintf("%s: the schema has %d properties, the type %d fields", path, len(properties), seen))
	}
	return problems
}

func TestClosedListsMatchSchemas(t *testing.T) {
	for _, e := range enum(t, "lifecycle.v1.json", "properties", "event", "enum") {
		if !contract.LifecycleEvent(e).Valid() {
			t.Errorf("event %q is not in the contract", e)
		}
	}
	for _, o := range enum(t, "change.v1.json", "properties", "operation", "enum") {
		if !contract.ChangeOperation(o).Valid() {
			t.Errorf("operation %q is not in the contract", o)
		}
	}
	if n := len(enum(t, "lifecycle.v1.json", "properties", "event", "enum")); n != 18 {
		t.Errorf("%d events, want 18", n)
	}
}

func enum(t *testing.T, file string, path ...string) []string {
	t.Helper()
	var at any
	if err := json.Unmarshal(schemaText(t, file), &at); err != nil {
		t.Fatal(err)
	}
	for _, step := range path {
		m, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("%s has no %v", file, path)
		}
		at = m[step]
	}
	list, ok := at.([]any)
	if !ok {
		t.Fatalf("%s has no list at %v", file, path)
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}
