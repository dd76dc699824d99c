package contract_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Within a major version fields are only added: a change must not remove a field, change its
// type, make a required field optional or require a new field.
func TestSchemasOnlyGrow(t *testing.T) {
	for _, dir := range releases(t) {
		for name, old := range files(t, filepath.Join(dir, "schemas", "*.json")) {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				for _, problem := range shrunk(parse(t, old), parse(t, schemaText(t, name)), "") {
					t.Error(problem)
				}
			})
		}
	}
}

func shrunk(old, now any, path string) []string {
	o, _ := old.(map[string]any)
	n, _ := now.(map[string]any)
	var out []string
	if o["type"] != nil && !reflect.DeepEqual(o["type"], n["type"]) || o["$ref"] != n["$ref"] {
		out = append(out, fmt.Sprintf("%s: type %v%v became %v%v", path, o["type"], o["$ref"], n["type"], n["$ref"]))
	}
	if was, is := required(o), required(n); !slices.Equal(was, is) && len(o) > 0 {
		out = append(out, fmt.Sprintf("%s: required were %v, now %v", path, was, is))
	}
	was, _ := o["enum"].([]any)
	is, _ := n["enum"].([]any)
	for _, v := range was {
		if !slices.Contains(is, v) {
			out = append(out, fmt.Sprintf("%s: value %v is gone", path, v))
		}
	}
	for _, group := range []string{"properties", "$defs"} {
		present := children(n, group)
		for name, child := range children(o, group) {
			if present[name] == nil {
				out = append(out, fmt.Sprintf("%s: %s.%s is gone", path, group, name))
				continue
			}
			out = append(out, shrunk(child, present[name], path+"."+name)...)
		}
	}
	if o["items"] != nil {
		out = append(out, shrunk(o["items"], n["items"], path+"[]")...)
	}
	return out
}

func required(m map[string]any) []string {
	list, _ := m["required"].([]any)
	out := make([]string, 0, len(list))
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	slices.Sort(out)
	return out
}

func TestShrunkReportsBreakingChanges(t *testing.T) {
	old := string(schemaText(t, "lifecycle.v1.json"))
	tests := map[string]struct {
		from, to string
		breaks   bool
	}{
		"nothing":                    {"", "", false},
		"a new field":                {`"gap": {`, `"mood": {"type": "string"}, "gap": {`, false},
		"a new value":                {`"deleted"`, `"deleted", "exploded"`, false},
		"a field that goes":          {`"gap": {`, `"hole": {`, true},
		"a field of another type":    {`"type": "boolean"`, `"type": "string"`, true},
		"a value that goes":          {`"recovered",`, ``, true},
		"a promise that goes":        {`"generation"` + "\n", `"generation_"` + "\n", true},
		"a field that is now needed": {`"object",` + "\n    \"event\"", `"object", "event", "gap"`, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(old, tc.from, tc.to, 1)
			if tc.from != "" && changed == old {
				t.Fatalf("the schema has no %q", tc.from)
			}
			if got := shrunk(parse(t, []byte(old)), parse(t, []byte(changed)), ""); (len(got) > 0) != tc.breaks {
				t.Errorf("problems %v", got)
			}
		})
	}
}
