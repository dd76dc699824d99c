package argocd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// crd holds the fields of a CustomResourceDefinition that the test reads.
type crd struct {
	Spec struct {
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Schema struct {
				OpenAPI struct {
					Properties map[string]struct {
						Properties map[string]struct {
							Enum []string `json:"enum"`
						} `json:"properties"`
					} `json:"properties"`
				} `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// states returns the values of status.state (or another field), by kind; a kind without it has none.
func states(t *testing.T, field string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../../services/ingester/config/crd/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d CRDs: %v", len(files), err)
	}
	out := map[string][]string{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c crd
		if err := yaml.Unmarshal(raw, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[c.Spec.Names.Kind] = c.Spec.Versions[0].Schema.OpenAPI.Properties["status"].Properties[field].Enum
	}
	return out
}

func record(kind string, status map[string]any) map[string]any {
	return map[string]any{"kind": kind, "metadata": map[string]any{"name": "a", "generation": 1}, "status": status}
}

// ends maps the suffix of a state to the expected health; that of RUNNING depends on the kind.
var ends = map[string]string{
	"READY": healthy, "HEALTHY": healthy, "SERVING": healthy, "SUCCEEDED": healthy, "SKIPPED": healthy,
	"INVALID": progressing, "INITIALIZING": progressing, "INITIALIZED": progressing, "PENDING": progressing,
	"CREATING": progressing, "CREATED": progressing, "DELETING": progressing, "BUILDING": progressing,
	"PROVISIONING": progressing, "TERMINATING": progressing, "RUNNING": progressing, "KILL": progressing,
	"UNHEALTHY": degraded, "FAILED": degraded, "ERROR": degraded,
	"EMPTY": suspended, "KILLED": suspended, "PAUSED": suspended, "TERMINATED": suspended, "DELETED": suspended,
	"UNKNOWN": unknown,
}

func TestHealthOfMichelangeloStates(t *testing.T) {
	script := read(t, michelangeloScript)
	for kind, all := range states(t, "state") {
		for _, state := range all {
			want := ends[state[strings.LastIndex(state, "_")+1:]]
			if state == "TRIGGER_RUN_STATE_RUNNING" {
				want = healthy // it runs until a user ends it
			}
			if got := run(t, script, record(kind, map[string]any{"state": state})); got.status != want {
				t.Errorf("%s in %s: %s (%s), want %s", kind, state, got.status, got.message, want)
			}
		}
	}
}

func TestHealthOfMichelangeloDeploymentStages(t *testing.T) {
	script := read(t, michelangeloScript)
	for _, stage := range states(t, "stage")["Deployment"] {
		want := progressing
		switch {
		case strings.HasSuffix(stage, "FAILED"), strings.HasSuffix(stage, "ROLLBACK_COMPLETE"):
			want = degraded
		case strings.HasSuffix(stage, "COMPLETE"), strings.HasSuffix(stage, "INVALID"):
			want = healthy
		}
		got := run(t, script, record("Deployment", map[string]any{"state": "DEPLOYMENT_STATE_HEALTHY", "stage": stage}))
		if got.status != want {
			t.Errorf("stage %s: %s (%s), want %s", stage, got.status, got.message, want)
		}
	}
}

func TestHealthOfMichelangeloRecord(t *testing.T) {
	script := read(t, michelangeloScript)
	concluded := func(kind, status string) map[string]any {
		return map[string]any{"statusConditions": []any{map[string]any{"type": kind, "status": status, "message": "because"}}}
	}
	terminating := record("Project", nil)
	terminating["metadata"].(map[string]any)["deletionTimestamp"] = "2026-11-21T10:00:00Z"
	tests := map[string]struct {
		object map[string]any
		want   health
	}{
		"a record without a state":    {record("Model", nil), health{healthy, "Stored."}},
		"no state yet":                {record("Project", nil), health{progressing, "No state has been reported yet."}},
		"an unknown state":            {record("Project", map[string]any{"state": "PROJECT_STATE_NEW"}), health{unknown, "The state PROJECT_STATE_NEW is unknown."}},
		"an error with its cause":     {record("Project", map[string]any{"state": "PROJECT_STATE_ERROR", "errorMessage": "no quota"}), health{degraded, "no quota"}},
		"an error without a cause":    {record("Project", map[string]any{"state": "PROJECT_STATE_ERROR", "errorMessage": ""}), health{degraded, "PROJECT_STATE_ERROR"}},
		"a job that has not started":  {record("SparkJob", nil), health{progressing, "No state has been reported yet."}},
		"a job that has succeeded":    {record("SparkJob", concluded("Succeeded", "CONDITION_STATUS_TRUE")), health{healthy, "because"}},
		"a job that has failed":       {record("SparkJob", concluded("Succeeded", "CONDITION_STATUS_FALSE")), health{degraded, "because"}},
		"a job that runs":             {record("SparkJob", concluded("Succeeded", "CONDITION_STATUS_UNKNOWN")), health{progressing, "because"}},
		"a condition of another type": {record("SparkJob", concluded("Killing", "CONDITION_STATUS_TRUE")), health{progressing, "No state has been reported yet."}},
		"a cluster that is ready":     {record("Cluster", concluded("Ready", "CONDITION_STATUS_TRUE")), health{healthy, "because"}},
		"deleted":                     {terminating, health{progressing, "The object is being deleted; its row in MySQL is closed first."}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := run(t, script, tc.object); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
