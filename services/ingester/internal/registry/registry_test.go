package registry

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

func TestLoadDescribesAllKinds(t *testing.T) {
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range r.Kinds() {
		got = append(got, k.Name+" "+k.Plural+" "+k.Table)
	}
	want := []string{
		"Model models model", "ModelFamily modelfamilys modelfamily", "Pipeline pipelines pipeline",
		"PipelineRun pipelineruns pipelinerun", "Deployment deployments deployment",
		"InferenceServer inferenceservers inferenceserver", "Project projects project", "Revision revisions revision",
		"Cluster clusters cluster", "RayCluster rayclusters raycluster", "RayJob rayjobs rayjob",
		"SparkJob sparkjobs sparkjob", "TriggerRun triggerruns triggerrun",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	for _, k := range r.Kinds() {
		if k.Immutable != (k.Name == "Model") {
			t.Errorf("%s is immutable: %v", k.Name, k.Immutable)
		}
	}
}

// TestColumnsMatchAPI lists the indexed fields of all kinds. A column without a type is VARCHAR(255).
func TestColumnsMatchAPI(t *testing.T) {
	want := map[string]string{
		"Model": "algorithm<spec.algorithm training_framework<spec.training_framework owner<spec.owner.name source<spec.source" +
			" description<spec.description:VARCHAR(768) model_kind<spec.kind package_type<spec.package_type revision_id<spec.revision_id:INT" +
			pair("src_pipeline_run<spec.source_pipeline_run") + pair("model_family<spec.model_family") +
			pair("feature_eval_report<spec.feature_evaluation_report") + pair("performance_eval_report<spec.performance_evaluation_report") +
			pair("feature_quality_report<spec.feature_quality_report") + pair("explainability_report<spec.explainability_report"),
		"ModelFamily": "model_family_name<spec.name",
		"Pipeline":    "owner<spec.owner.name pipeline_type<spec.type",
		"PipelineRun": pair("pipeline<spec.pipeline") + pair("revision<spec.revision") + pair("resume_pipeline_run<spec.resume.pipeline_run") +
			" state<status.state actor<spec.actor.name end_time<status.end_time:DATETIME(6) exception_type<status.exception_type",
		"Deployment": "state<status.state target_definition_type<spec.definition.type" + pair("current_revision<status.current_revision") +
			" deletion_requested_timestamp<metadata.deletionTimestamp:DATETIME(6)",
		"InferenceServer": "state<status.state",
		"Project":         "tier<spec.tier:INT",
		"Revision": pair("base_resource<spec.base_resource") + " base_type<spec.base_type.kind commit_branch<spec.commit.branch" +
			" git_ref<spec.commit.git_ref owner<spec.owner.name",
		"TriggerRun": pair("pipeline<spec.pipeline") + pair("revision<spec.revision") + " state<status.state auto_flip<spec.auto_flip:TINYINT(1)",
	}
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range r.Kinds() {
		var got []string
		for _, c := range k.Columns {
			column := c.Name + "<" + c.ProtoPath
			if c.SQLType != "VARCHAR(255)" {
				column += ":" + c.SQLType
			}
			got = append(got, column)
		}
		if diff := cmp.Diff(strings.Fields(want[k.Name]), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", k.Name, diff)
		}
	}
	model, _ := r.Lookup("Model")
	if len(model.Keys) != 14 { // one for each option: both columns of a pair together
		t.Errorf("Model has %d keys, want 14", len(model.Keys))
	}
}

// pair returns the two columns of a reference from "key<path".
func pair(option string) string {
	key, path, _ := strings.Cut(option, "<")
	return fmt.Sprintf(" %s_namespace<%s.namespace %s_name<%s.name", key, path, key, path)
}

func TestParseRejectsInconsistentKinds(t *testing.T) {
	listed := api.Kinds()
	last := len(listed) - 1
	tests := map[string]struct {
		kinds []string
		want  string
	}{
		"a listed kind has no message":     {kinds: append(api.Kinds(), "Ghost"), want: `kind "Ghost" is listed`},
		"a described message is forgotten": {kinds: listed[:last], want: fmt.Sprintf("message %q carries the kind option", listed[last])},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := parse(descriptors, tc.kinds)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestNewColumnsRejectsInvalidOptions(t *testing.T) {
	r, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	model, _ := r.Lookup("Model")
	tests := map[string]struct {
		index indexOptions
		want  string
	}{
		"an unknown field":           {indexOptions{path: "spec.nope", key: "nope"}, `has no field "nope"`},
		"a path through a scalar":    {indexOptions{path: "spec.algorithm.x", key: "x"}, "after a field that is not a message"},
		"a repeated field":           {indexOptions{path: "spec.quality_scores", key: "x"}, "is repeated"},
		"a message":                  {indexOptions{path: "spec.llm_spec", key: "x"}, "cannot be indexed"},
		"a key that is not a name":   {indexOptions{path: "spec.algorithm", key: "x; DROP"}, "not a valid SQL identifier"},
		"a text type without a size": {indexOptions{path: "spec.algorithm", key: "x", sqlType: "TEXT"}, "is not VARCHAR(n)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := newColumns(model.Message, tc.index)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestDescriptorsAreCurrent compiles the .proto files again and compares.
func TestDescriptorsAreCurrent(t *testing.T) {
	out := filepath.Join(t.TempDir(), "descriptors.binpb")
	cmd := exec.CommandContext(t.Context(), "go", "run", "./compile", "-proto", "../../proto", "-out", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compile: %v\n%s", err, text)
	}
	fresh, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(fresh) != string(descriptors) {
		t.Error("descriptors.binpb is not what proto/ compiles to: run go generate ./internal/registry")
	}
}
