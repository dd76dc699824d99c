package compat

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	engine "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	superset "github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// edges are values that some schema accepts and some type of Go does not decode, and values that both accept.
var edges = []any{
	nil, true, 1.5, 1e300, int64(0), int64(-1), int64(math.MaxInt32), int64(math.MaxInt32 + 1), int64(math.MinInt32 - 1),
	int64(math.MaxInt64), int64(math.MinInt64), float64(math.MaxInt64), "", "a", "80", "1h", "1x", "YQ", "YQ==", "_w==",
	"1.", ".5", "-1.5Gi", "1e3", "1e-3", "1e1.5", "1E+.5", "1e.", "1e999", "1e99999", "1e9223372036854775808", "12345678901234567890Ei",
	"2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5+02:00", "2024-01-01t00:00:00z", "2024-01-01T00:00:00x5Z",
	"2024-01-01T00:00:00+99:00", "2024-02-30T00:00:00Z", "2024-01-01T23:59:60Z", "2024-01-01",
	[]any{},
	map[string]any{},
}

// unknown are fields that a schema keeps only if it preserves unknown fields.
var unknown = map[string]any{"creationTimestamp": int64(5), "ownerReferences": "a", "generation": "a"}

// Go decodes each value that a CRD accepts: one object that a client cannot decode ends its watch of all objects.
func TestAcceptedValuesAreDecoded(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{engine.AddToScheme, superset.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("../../services/*-operator/config/crd/*.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("found %v: %v", files, err)
	}
	for _, file := range files {
		crd := readCRD(t, file)
		for _, v := range crd.Spec.Versions {
			t.Run(crd.Spec.Names.Kind+"/"+v.Name, func(t *testing.T) {
				o, err := scheme.New(schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind})
				if err != nil {
					t.Fatal(err)
				}
				w := walker{T: t, object: reflect.TypeOf(o).Elem(), accepted: map[string][]any{}, seen: map[string]bool{}}
				for _, field := range []string{"spec", "status"} {
					w.walk(v.Schema.OpenAPIV3Schema.Properties[field], "."+field, func(value any) any { return map[string]any{field: value} })
				}
				if w.decoded < 500 {
					t.Errorf("only %d values were accepted", w.decoded)
				}
			})
		}
	}
}

// walker decodes objects that have one accepted value each.
type walker struct {
	*testing.T
	object   reflect.Type
	accepted map[string][]any // by schema
	seen     map[string]bool  // schemas of structs, which the CRD of Supersets repeats for each component
	decoded  int
}

// walk checks the values of a schema and of its fields. object returns an object with such a value.
func (w *walker) walk(props apiextensionsv1.JSONSchemaProps, path string, object func(any) any) {
	w.Helper()
	text := w.encode(props)
	if len(props.Properties) > 0 {
		if w.seen[text] {
			return
		}
		w.seen[text] = true
	}
	if _, found := w.accepted[text]; !found {
		w.accepted[text] = w.accept(props)
	}
	for _, value := range w.accepted[text] {
		w.decode(path, object(value))
	}
	for _, name := range slices.Sorted(maps.Keys(props.Properties)) {
		w.walk(props.Properties[name], path+"."+name, func(value any) any { return object(map[string]any{name: value}) })
	}
	if props.Items != nil {
		w.walk(*props.Items.Schema, path+"[]", func(value any) any { return object([]any{value}) })
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		w.walk(*props.AdditionalProperties.Schema, path+"{}", func(value any) any { return object(map[string]any{"a": value}) })
	}
}

// accept returns the edges that the API server accepts.
func (w *walker) accept(props apiextensionsv1.JSONSchemaProps) (out []any) {
	w.Helper()
	if p := props.XPreserveUnknownFields; p != nil && *p {
		out = append(out, unknown)
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		w.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		w.Fatal(err)
	}
	for _, value := range edges {
		if len(validation.ValidateCustomResource(nil, value, validator)) == 0 && w.passes(internal, value) {
			out = append(out, value)
		}
	}
	return out
}

// passes reports whether a value passes the rules of a schema.
func (w *walker) passes(props apiextensions.JSONSchemaProps, value any) bool {
	w.Helper()
	if len(props.XValidations) == 0 || value == nil {
		return true
	}
	structural, err := structuralschema.NewStructural(&props)
	if err != nil {
		w.Fatal(err)
	}
	rules := cel.NewValidator(structural, false, celconfig.PerCallLimit)
	errs, _ := rules.Validate(w.Context(), nil, structural, value, nil, celconfig.RuntimeCELCostBudget)
	return len(errs) == 0
}

// decode decodes an object as clients do.
func (w *walker) decode(path string, object any) {
	w.Helper()
	w.decoded++
	text := w.encode(object)
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), reflect.New(w.object).Interface()); err != nil {
		w.Errorf("%s: %s is accepted, but not decoded: %v", path, text, err)
	}
}

func (w *walker) encode(value any) string {
	w.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

func readCRD(t *testing.T, file string) (crd apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	return crd
}
