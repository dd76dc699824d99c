package crd_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/crd"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// TestCommittedCRDsAreCurrent compares config/crd with the CRDs of the current registry.
func TestCommittedCRDsAreCurrent(t *testing.T) {
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
		asJSON, err := yaml.YAMLToJSON(fresh)
		if err != nil {
			t.Fatal(err)
		}
		if len(asJSON) > 256<<10 {
			t.Errorf("%s has %d bytes of JSON: kubectl apply keeps it in an annotation of at most 256 KiB", name, len(asJSON))
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

func TestSchemaFollowsRules(t *testing.T) {
	spec := definition(t, "Model").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
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

func TestPodTemplatesAreInlined(t *testing.T) {
	spec := definition(t, "RayCluster").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	pod := spec["head"].Properties["pod"].Properties
	if got := pod["metadata"].Properties["labels"].AdditionalProperties; got == nil || got.Schema.Type != "string" {
		t.Error("the labels of a pod template would be pruned")
	}
	podSpec := pod["spec"].Properties
	if podSpec["containers"].XPreserveUnknownFields != nil || !podSpec["containers"].Nullable {
		t.Error("the containers keep unknown fields, or may not be null")
	}
	container := podSpec["containers"].Items.Schema.Properties
	if got := container["imagePullPolicy"]; got.Type != "string" || got.Enum != nil {
		t.Errorf("imagePullPolicy is %+v", got)
	}
	if got := container["resources"].Properties["limits"].AdditionalProperties; got == nil || !got.Schema.XIntOrString {
		t.Error("a quantity is not integer or text")
	}
	volume := podSpec["volumes"].Items.Schema.Properties
	for _, name := range []string{"name", "configMap", "emptyDir"} { // the source is inlined
		if _, ok := volume[name]; !ok {
			t.Errorf("a volume has no %s", name)
		}
	}
}

func TestRecursiveMessageKeepsFields(t *testing.T) {
	status := definition(t, "PipelineRun").Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties
	step := status["steps"].Items.Schema.Properties
	nested := step["attemptDetails"].Items.Schema.Properties["stepInfo"]
	for name, got := range map[string]apiextensionsv1.JSONSchemaProps{"subSteps": *step["subSteps"].Items.Schema, "stepInfo": nested} {
		if got.XPreserveUnknownFields == nil || !*got.XPreserveUnknownFields {
			t.Errorf("%s does not keep its fields", name)
		}
	}
}

func TestKubectlShowsStateAndOwner(t *testing.T) {
	tests := map[string][]string{
		"PipelineRun": {"State .status.state", "Owner .spec.actor.name", "Age .metadata.creationTimestamp"},
		"SparkJob":    {"Owner .spec.user.name", "Age .metadata.creationTimestamp"},
		"Project":     {"State .status.state", "Age .metadata.creationTimestamp"}, // owned by a team
		"Cluster":     {"Age .metadata.creationTimestamp"},
	}
	for name, want := range tests {
		var got []string
		for _, c := range definition(t, name).Spec.Versions[0].AdditionalPrinterColumns {
			got = append(got, c.Name+" "+c.JSONPath)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", name, diff)
		}
	}
}

func definition(t *testing.T, kind string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := r.Lookup(kind)
	if !ok {
		t.Fatalf("kind %q is not registered", kind)
	}
	out, err := crd.Definition(k)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
