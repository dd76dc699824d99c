package crd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/crd"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// TestCommittedDefinitionsAreCurrent compares config/crd with what the registry says now.
func TestCommittedDefinitionsAreCurrent(t *testing.T) {
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("..", "..", "config", "crd")
	want := map[string]bool{}
	for _, kind := range r.Kinds() {
		name := crd.FileName(kind)
		want[name] = true
		fresh, err := crd.YAML(kind)
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("%v: run go generate ./internal/registry", err)
		}
		if diff := cmp.Diff(string(committed), string(fresh)); diff != "" {
			t.Errorf("%s is not current, run go generate ./internal/registry (-committed +fresh):\n%s", name, diff)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !want[f.Name()] {
			t.Errorf("%s belongs to no registered kind", f.Name())
		}
	}
}

func TestSchemaFollowsTheRules(t *testing.T) {
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := r.Lookup("Model")
	definition, err := crd.Definition(model)
	if err != nil {
		t.Fatal(err)
	}
	spec := definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	metadata := spec["qualityScores"].Items.Schema.Properties["metadata"]
	if metadata.XPreserveUnknownFields == nil || !*metadata.XPreserveUnknownFields {
		t.Error("a Struct does not keep its fields")
	}
	if got := spec["kind"]; got.Type != "string" || len(got.Enum) != 9 {
		t.Errorf("an enum is %q with %d values, want text with 9", got.Type, len(got.Enum))
	}
	if got := spec["revisionId"]; got.Type != "integer" || got.Format != "int32" {
		t.Errorf("an int32 is %s/%s", got.Type, got.Format)
	}
	if got := spec["featureImportanceList"].Items.Schema.Properties["featureImportance"].AdditionalProperties; got == nil || got.Schema == nil {
		t.Error("a map has no additionalProperties")
	}
}
