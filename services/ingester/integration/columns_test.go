package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
)

// patchStatus merges into the status of an object.
func (b *env) patchStatus(u *unstructured.Unstructured, patch string) *unstructured.Unstructured {
	b.Helper()
	if err := b.client.Status().Patch(b.Context(), u, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		b.Fatal(err)
	}
	return u
}

// TestCompletedPipelineRunIsStored stores status.endTime, whose type requires a conversion for its column.
func TestCompletedPipelineRunIsStored(t *testing.T) {
	b := newEnv(t)
	b.start()
	run := b.object("PipelineRun", "nightly")
	run.Object["spec"] = map[string]any{"pipeline": map[string]any{"name": "train"}, "actor": map[string]any{"name": "ada"}}
	b.finalizer(b.create(run))
	columns := "SELECT CONCAT_WS(' ', pipeline_namespace, pipeline_name, state, COALESCE(end_time, 'NULL')) FROM pipelinerun WHERE uid = ?"
	b.row(run, " train PIPELINE_RUN_STATE_INVALID NULL", columns)
	b.patchStatus(run, `{"status":{"state":"PIPELINE_RUN_STATE_SUCCEEDED","endTime":"2026-11-21T04:42:00.5Z",`+
		`"steps":[{"name":"a","subSteps":[{"name":"b","attemptDetails":[{"stepInfo":{"name":"c"}}]}]}]}}`)
	b.stored(run)
	b.row(run, " train PIPELINE_RUN_STATE_SUCCEEDED 2026-11-21 04:42:00.500000", columns)
}

// TestTerminatingDeploymentKeepsDeletionTimestamp holds the object with a
// finalizer of another owner and deletes it.
func TestTerminatingDeploymentKeepsDeletionTimestamp(t *testing.T) {
	b := newEnv(t)
	b.start()
	d := b.object("Deployment", "churn")
	d.SetFinalizers([]string{"example.com/hold"})
	d.Object["spec"] = map[string]any{
		"definition": map[string]any{"type": "TARGET_TYPE_OFFLINE"},
		"selector":   map[string]any{"matchLabels": map[string]any{"tier": "gold"}},
	}
	b.finalizer(b.create(d))
	b.patchStatus(d, `{"status":{"state":"DEPLOYMENT_STATE_HEALTHY","currentRevision":{"name":"r1"}}}`)
	b.stored(d)
	columns := "SELECT CONCAT_WS(' ', state, target_definition_type, current_revision_name, deletion_requested_timestamp IS NULL, delete_time IS NULL) FROM deployment WHERE uid = ?"
	b.row(d, "DEPLOYMENT_STATE_HEALTHY TARGET_TYPE_OFFLINE r1 1 1", columns)
	b.delete(d)
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
		t.Fatal(err)
	}
	b.row(d, "DEPLOYMENT_STATE_HEALTHY TARGET_TYPE_OFFLINE r1 0 0", columns)
	b.row(d, d.GetDeletionTimestamp().UTC().Format(time.DateTime+".000000"),
		"SELECT CONCAT(deletion_requested_timestamp) FROM deployment WHERE uid = ?")
	b.patch(d, `{"metadata":{"finalizers":null}}`)
	b.expectDeleted(d)
}

// TestAllFieldsAreAcceptedAndStored creates one object of every kind in which all fields are
// set: what the CRDs accept and what the encoder accepts must be the same.
func TestAllFieldsAreAcceptedAndStored(t *testing.T) {
	b := newEnv(t)
	b.start()
	strict := client.NewNamespacedClient(client.WithFieldValidation(b.client, "Strict"), b.namespace)
	for _, kind := range api.Kinds() {
		raw, err := os.ReadFile(filepath.Join("../internal/wire/testdata/full", strings.ToLower(kind)+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		full := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(raw, full); err != nil {
			t.Fatal(err)
		}
		u := b.object(kind, "full")
		u.Object["spec"] = full.Object["spec"]
		if err := strict.Create(t.Context(), u); err != nil {
			t.Errorf("create a %s: %v", kind, err)
			continue
		}
		b.finalizer(u)
		u.Object["status"] = full.Object["status"]
		if err := strict.Status().Update(t.Context(), u); err != nil {
			t.Errorf("update the status of a %s: %v", kind, err)
			continue
		}
		if diff := cmp.Diff(full.Object["spec"], u.Object["spec"]); diff != "" {
			t.Errorf("the API server changed the spec of a %s (-sent +kept):\n%s", kind, diff)
		}
		if diff := cmp.Diff(full.Object["status"], u.Object["status"]); diff != "" {
			t.Errorf("the API server changed the status of a %s (-sent +kept):\n%s", kind, diff)
		}
		b.stored(u)
	}
}

// TestPodTemplateTyposAreRejected checks that the CRDs include the fields of pods.
func TestPodTemplateTyposAreRejected(t *testing.T) {
	b := newEnv(t)
	strict := client.NewNamespacedClient(client.WithFieldValidation(b.client, "Strict"), b.namespace)
	tests := map[string]struct {
		container map[string]any
		want      string
	}{
		"a misspelt field":     {map[string]any{"imagee": "ray"}, `unknown field "spec.head.pod.spec.containers[0].imagee"`},
		"text for a number":    {map[string]any{"ports": []any{map[string]any{"containerPort": "80"}}}, "spec.head.pod.spec.containers[0].ports[0].containerPort"},
		"a list for an object": {map[string]any{"resources": []any{}}, "spec.head.pod.spec.containers[0].resources"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			cluster := b.object("RayCluster", "tuning")
			cluster.Object["spec"] = map[string]any{"head": map[string]any{"pod": map[string]any{
				"spec": map[string]any{"containers": []any{tc.container}},
			}}}
			if err := strict.Create(t.Context(), cluster); !contains(err, tc.want) {
				t.Errorf("error %v, want one with %s", err, tc.want)
			}
		})
	}
}
