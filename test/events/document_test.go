package events

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/asyncapi"
)

// pages is the directory of the document.
const pages = "../../docs/events"

func document(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(pages + "/asyncapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := yaml.UnmarshalStrict(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func load(t *testing.T) *asyncapi.Document {
	t.Helper()
	d, err := asyncapi.Load(os.DirFS(pages))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// official returns the JSON Schema of AsyncAPI 3.0.0 documents.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw, err := os.ReadFile("testdata/asyncapi/3.0.0.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	const id = "http://asyncapi.com/definitions/3.0.0/asyncapi.json"
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile(id)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestDocumentIsValidAsyncAPI(t *testing.T) {
	schema := official(t)
	if err := schema.Validate(document(t)); err != nil {
		t.Error(err)
	}
	broken := map[string]func(doc map[string]any){
		"without a title":          func(d map[string]any) { delete(at(t, d, "info"), "title") },
		"with an unknown action":   func(d map[string]any) { at(t, d, "operations", "beat")["action"] = "shout" },
		"with an unknown field":    func(d map[string]any) { d["topics"] = "x" },
		"with a channel of a list": func(d map[string]any) { at(t, d, "channels")["lifecycle"] = []any{} },
	}
	for name, change := range broken {
		t.Run(name, func(t *testing.T) {
			doc := document(t)
			change(doc)
			if err := schema.Validate(doc); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}

// at returns the object at a path of a document.
func at(t *testing.T, doc map[string]any, path ...string) map[string]any {
	t.Helper()
	for _, step := range path {
		next, ok := doc[step].(map[string]any)
		if !ok {
			t.Fatalf("the document has no %s", strings.Join(path, "."))
		}
		doc = next
	}
	return doc
}

func TestDocumentReferencesResolve(t *testing.T) {
	doc := document(t)
	refs := map[string]bool{}
	collect(doc, refs)
	if len(refs) < 20 {
		t.Fatalf("found only %d references", len(refs))
	}
	for ref := range refs {
		if file, local := strings.CutPrefix(ref, "./"); local {
			if _, err := os.Stat(filepath.Join(pages, file)); err != nil {
				t.Error(err)
			}
			continue
		}
		pointer, inside := strings.CutPrefix(ref, "#/")
		if !inside {
			t.Errorf("%q is outside this directory", ref)
			continue
		}
		at(t, doc, strings.Split(pointer, "/")...)
	}
}

func collect(node any, refs map[string]bool) {
	switch n := node.(type) {
	case map[string]any:
		if ref, ok := n["$ref"].(string); ok {
			refs[ref] = true
		}
		for _, v := range n {
			collect(v, refs)
		}
	case []any:
		for _, v := range n {
			collect(v, refs)
		}
	}
}

// goldenSubjects maps the type of a golden message to a subject on which it is published.
var goldenSubjects = map[string]string{
	contract.TypeObservation: "flotilla.obs.v1.prod.team-a.superset.main.superset-operator",
	contract.TypeHeartbeat:   "flotilla.hb.v1.prod.superset-operator",
	contract.TypeLifecycle:   "flotilla.lifecycle.v1.prod.team-a.superset.main.phase",
	contract.TypeChange:      "flotilla.change.v1.prod.team-a.model.m.restored",
}

func TestGoldenMessagesMatchDocument(t *testing.T) {
	d := load(t)
	golden, err := filepath.Glob("../../libs/contract/testdata/golden/*.json")
	if err != nil || len(golden) < 8 {
		t.Fatalf("%d golden messages, %v", len(golden), err)
	}
	seen := map[string]bool{}
	for _, file := range golden {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			e, err := contract.DecodeEnvelope(body)
			if err != nil {
				t.Fatal(err)
			}
			seen[e.Type] = true
			header := map[string][]string{contract.HeaderContentType: {contract.ContentType}, contract.HeaderMsgID: {e.ID}}
			if err := d.Check(goldenSubjects[e.Type], header, body); err != nil {
				t.Error(err)
			}
			for other, subject := range goldenSubjects {
				if other != e.Type && d.Check(subject, header, body) == nil {
					t.Errorf("accepted as a message on %q", subject)
				}
			}
		})
	}
	if got := slices.Sorted(maps.Keys(seen)); len(got) != len(goldenSubjects) {
		t.Errorf("golden messages of %v only", got)
	}
}

func TestCheckRejectsUndocumentedMessage(t *testing.T) {
	d := load(t)
	body, err := os.ReadFile("../../libs/contract/testdata/golden/lifecycle-condition.json")
	if err != nil {
		t.Fatal(err)
	}
	valid := func() map[string][]string {
		return map[string][]string{
			"Content-Type": {contract.ContentType}, "Nats-Msg-Id": {"1"},
			"traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		}
	}
	tests := map[string]struct {
		header func(map[string][]string)
		body   []byte
		fine   bool
	}{
		"as it is":                  {body: body, fine: true},
		"without an id":             {header: func(h map[string][]string) { delete(h, "Nats-Msg-Id") }, body: body},
		"with another content type": {header: func(h map[string][]string) { h["Content-Type"] = []string{"text/plain"} }, body: body},
		"with a broken trace":       {header: func(h map[string][]string) { h["traceparent"] = []string{"x"} }, body: body},
		"no JSON":                   {body: []byte("hello")},
		"of another type":           {body: bytes.ReplaceAll(body, []byte("lifecycle.v1\""), []byte("lifecycle.v2\""))},
		"with a broken payload":     {body: bytes.Replace(body, []byte(`"unavailable"`), []byte(`"odd"`), 1)},
		"without a sequence":        {body: bytes.Replace(body, []byte(`"sequence"`), []byte(`"order"`), 1)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			header := valid()
			if tc.header != nil {
				tc.header(header)
			}
			if err := d.Check(goldenSubjects[contract.TypeLifecycle], header, tc.body); (err == nil) != tc.fine {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// The examples of the document match the document.
func TestExamplesMatchDocument(t *testing.T) {
	d := load(t)
	examples, _ := at(t, document(t), "components", "messages", "lifecycle")["examples"].([]any)
	if len(examples) == 0 {
		t.Fatal("no examples found")
	}
	for _, e := range examples {
		example, _ := e.(map[string]any)
		body, err := json.Marshal(example["payload"])
		if err != nil {
			t.Fatal(err)
		}
		header := map[string][]string{"Content-Type": {contract.ContentType}, "Nats-Msg-Id": {"1"}}
		if err := d.Check(goldenSubjects[contract.TypeLifecycle], header, body); err != nil {
			t.Error(err)
		}
	}
}
