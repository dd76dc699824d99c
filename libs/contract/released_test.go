package contract_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// releases lists the directories of earlier releases.
func releases(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/released/*/schemas")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no releases, %v", err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

func files(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("nothing is at %s, %v", pattern, err)
	}
	out := map[string][]byte{}
	for _, n := range names {
		raw, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(n)] = raw
	}
	return out
}

// N reads N-1: this release decodes every field of messages of earlier releases.
func TestEarlierMessagesDecodeInFull(t *testing.T) {
	for _, dir := range releases(t) {
		for name, message := range files(t, filepath.Join(dir, "golden", "*.json")) {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				second, err := reencode(message)
				if err != nil {
					t.Fatal(err)
				}
				for _, lost := range missing(parse(t, message), parse(t, second), "") {
					t.Errorf("lost %s", lost)
				}
			})
		}
	}
}

// N-1 reads N: messages of this release are valid for the readers of earlier releases, which
// ignore unknown fields and accept unknown values of closed lists.
func TestMessagesMatchEarlierSchemas(t *testing.T) {
	for _, dir := range releases(t) {
		schemas := files(t, filepath.Join(dir, "schemas", "*.json"))
		for name, message := range files(t, "testdata/golden/*.json") {
			t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
				e, err := contract.DecodeEnvelope(message)
				if err != nil {
					t.Fatal(err)
				}
				check(t, schemas["event.v1.json"], message)
				file := strings.TrimPrefix(e.Type, "dev.flotilla.") + ".json"
				if old, ok := schemas[file]; ok {
					check(t, old, e.Data)
				}
			})
		}
	}
}

func parse(t *testing.T, raw []byte) any {
	t.Helper()
	var out any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// missing lists the parts of want that got lacks; got may have more.
func missing(want, got any, path string) []string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		var out []string
		for key, value := range w {
			if _, ok := g[key]; !ok {
				out = append(out, path+"."+key)
				continue
			}
			out = append(out, missing(value, g[key], path+"."+key)...)
		}
		return out
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return []string{fmt.Sprintf("%s: %d items instead of %d", path, len(g), len(w))}
		}
		var out []string
		for i := range w {
			out = append(out, missing(w[i], g[i], fmt.Sprintf("%s[%d]", path, i))...)
		}
		return out
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s: %v became %v", path, want, got)}
	}
	return nil
}

// check validates as a reader does: it accepts unknown values of closed lists.
func check(t *testing.T, schema, value []byte) {
	t.Helper()
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
	if err := c.AddResource("old.json", decoded); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("old.json")
	if err != nil {
		t.Fatal(err)
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err == nil {
		err = compiled.Validate(instance)
	}
	if err != nil {
		t.Error(err)
	}
}

// open removes the closed lists of values from properties; it keeps those of conditions (allOf, if).
func open(node any) {
	m, ok := node.(map[string]any)
	if !ok {
		return
	}
	for _, group := range []string{"properties", "$defs"} {
		for _, p := range children(m, group) {
			delete(p, "enum")
			open(p)
		}
	}
	open(m["items"])
}

func children(m map[string]any, group string) map[string]map[string]any {
	out := map[string]map[string]any{}
	all, _ := m[group].(map[string]any)
	for name, v := range all {
		if child, ok := v.(map[string]any); ok {
			out[name] = child
		}
	}
	return out
}

// A reader of this release gets values that a later release adds.
func TestDecodeKeepsUnknownValues(t *testing.T) {
	message, err := samples()["lifecycle-deleted"]()
	if err != nil {
		t.Fatal(err)
	}
	later := bytes.Replace(message, []byte(`"event":"deleted"`), []byte(`"event":"hibernated","depth":3`), 1)
	_, got, err := contract.Decode[contract.Lifecycle](later)
	if err != nil || got.Event != "hibernated" || got.Event.Valid() {
		t.Errorf("event %q, known %t, error %v", got.Event, got.Event.Valid(), err)
	}
}

// entry returns a full status entry.
func entry() contract.StatusEntry {
	return contract.StatusEntry{
		Object: object(contract.Superset, "main"), Phase: "Running", Conditions: []contract.Condition{condition("True", "AllComponentsReady")},
		Provenance: &contract.Provenance{
			Observer: contract.Observer{Name: "superset-operator", Instance: "pod", Version: "v1"},
			Epoch:    1763719200000, Seq: 42, StreamSequence: 7, ReceivedAt: at, Evidence: []string{"webServer: 2 of 2"},
			Held: &contract.Held{Type: "Degraded", Status: "True", Since: at, Until: at.Add(2 * time.Minute)},
		},
		LastTransitionSeq: 5, DeployedVersion: "4.1.1", UpdatedAt: at, Memory: []byte("opaque"),
	}
}

func TestStatusEntriesMatchSchemaAndRoundTrip(t *testing.T) {
	for name, e := range map[string]contract.StatusEntry{"full": entry(), "bare": {Object: entry().Object, UpdatedAt: time.Unix(0, 0).UTC()}} {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
			if err != nil {
				t.Fatal(err)
			}
			if err := compile(t, "statusentry.v1.json").Validate(value); err != nil {
				t.Error(err)
			}
			var back contract.StatusEntry
			if err := json.Unmarshal(raw, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(e, back); diff != "" {
				t.Errorf("entry (-want +got):\n%s", diff)
			}
		})
	}
}
