package record_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/object"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/record"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

// both builds a record in both ways: from the bytes, and from the tree of the whole object.
func both(t testing.TB, b *record.Builder, text string) (fromBytes, fromTree *record.Record, errBytes, errTree error) {
	t.Helper()
	o, err := object.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u, err := o.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	fromBytes, errBytes = b.FromObject(o, record.Live)
	fromTree, errTree = b.Build(u, record.Live)
	return fromBytes, fromTree, errBytes, errTree
}

func TestFromObjectEqualsBuildFromTree(t *testing.T) {
	b := builder(t)
	texts := map[string]string{"as sent": sent}
	for _, name := range []string{"model", "project"} {
		data, err := os.ReadFile("../wire/testdata/" + name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.YAMLToJSON(data)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			got, want, err, errTree := both(t, b, text)
			if err != nil || errTree != nil {
				t.Fatal(err, errTree)
			}
			if !strings.Contains(got.JSON, `"metadata"`) || got.JSON != text {
				t.Errorf("the JSON is not as it was sent: %s", got.JSON)
			}
			got.JSON, want.JSON = "", ""
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(registry.Kind{}), cmp.Comparer(func(x, y *registry.Kind) bool { return x == y })); diff != "" {
				t.Errorf("-from the tree +from the bytes\n%s", diff)
			}
		})
	}
}

func TestErrorsNameField(t *testing.T) {
	b := builder(t)
	cases := map[string]struct{ old, replacement, path string }{
		"unknown key of the object":   {`"spec":{`, `"extra":1,"spec":{`, "extra"},
		"unknown key of the metadata": {`"generation":1`, `"generation":1,"colour":"red"`, "metadata.colour"},
		"wrong type in the metadata":  {`"generation":1`, `"generation":"one"`, "metadata.generation"},
		"wrong type deep in it":       {`"tier":"gold"`, `"tier":7`, "metadata.labels.tier"},
		"unknown key of the spec":     {`"algorithm"`, `"algorithms"`, "spec.algorithms"},
		"unknown enum value":          {`MODEL_KIND_BINARY_CLASSIFICATION`, `MODEL_KIND_MAGIC`, "spec.kind"},
		"invalid UTF-8 in the spec":   {`xgboost`, "xg\xffboost", "spec.algorithm"},
		"invalid UTF-8 in a label":    {`"gold"`, "\"go\xffld\"", "metadata.labels.tier"},
		"invalid UTF-8 in a list":     {`"name":"age"`, "\"name\":\"a\xffe\"", "spec.inputSchema.schemaItems[0].name"},
		"no version":                  {`"resourceVersion":"1234"`, `"resourceVersion":"new"`, "metadata.resourceVersion"},
		"no uid":                      {`"uid":"0a5fd6f5-2f0c-4a8e-9d0f-6d1d0a4d3c11"`, `"uid":""`, "metadata.uid"},
		"no kind":                     {`"kind":"Model",`, `"kind":"Model","status":3,`, "status"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, err := object.Parse([]byte(strings.Replace(sent, tc.old, tc.replacement, 1)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.FromObject(o, record.Live)
			var field *wire.FieldError
			if !errors.As(err, &field) || field.Path != tc.path {
				t.Errorf("got %v, want an error of %s", err, tc.path)
			}
		})
	}
}

// FuzzFromObject compares both ways for any spec: what one accepts the other accepts, with the same
// bytes, and both reject the same fields.
func FuzzFromObject(f *testing.F) {
	b := builder(f)
	for _, seed := range []string{
		`{}`, `null`, `{"algorithm":"a","algorithm":"b"}`, `{"revisionId":1e2,"sealed":true,"decisionThreshold":-0.0}`,
		`{"qualityScores":[{"metadata":{"a":[1,null,"x",{"b":true}]},"value":1e300},null]}`, `{"revisionId":99999999999}`,
		`{"owner":{"name":null}}`, `[]`, `{"featureImportanceList":[{"featureImportance":{"a":{"baseline":{"intValue":0,"boolValue":true}}}}]}`,
		`{"positive_label":"x","positiveLabel":"y"}`, `{"decisionThreshold":"NaN"}`, `{"a":1e999}`,
	} {
		f.Add(seed)
	}
	start := strings.Index(sent, `"spec":`) + len(`"spec":`)
	f.Fuzz(func(t *testing.T, spec string) {
		text := sent[:start] + spec + "}"
		o, err := object.Parse([]byte(text))
		if err != nil || string(o.Spec()) != strings.TrimSpace(spec) && len(o.Spec()) > 0 {
			return // no JSON, or JSON with something behind the spec
		}
		if !utf8.ValidString(spec) || strings.Contains(spec, `\u`) {
			return // the tree repairs text that the bytes reject
		}
		if _, err := o.Unstructured(); err != nil {
			return
		}
		got, want, err, errTree := both(t, b, text)
		if (err == nil) != (errTree == nil) {
			t.Fatalf("from the bytes: %v, from the tree: %v", err, errTree)
		}
		var field, fieldTree *wire.FieldError
		if errors.As(err, &field) && errors.As(errTree, &fieldTree) && field.Path != fieldTree.Path {
			t.Errorf("from the bytes: %v, from the tree: %v", err, errTree)
		}
		if err == nil && (string(got.Proto) != string(want.Proto) || !cmp.Equal(got.Indexed, want.Indexed)) {
			t.Errorf("records differ: %x\n%x\n%v\n%v", got.Proto, want.Proto, got.Indexed, want.Indexed)
		}
	})
}
