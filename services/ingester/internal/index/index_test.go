package index_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/index"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/wire"
)

func lookup(t *testing.T, name string) *registry.Kind {
	t.Helper()
	r, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	k, ok := r.Lookup(name)
	if !ok {
		t.Fatalf("kind %q is not registered", name)
	}
	return k
}

func TestValues(t *testing.T) {
	tests := map[string]struct {
		spec map[string]any
		want map[string]any // columns that matter to the case
	}{
		"absent plain fields are zero values, absent messages are NULL": {
			spec: nil,
			want: map[string]any{
				"algorithm": "", "revision_id": int64(0), "model_kind": "MODEL_KIND_INVALID",
				"owner": nil, "model_family_namespace": nil, "model_family_name": nil,
			},
		},
		"a present message with absent fields gives empty text": {
			spec: map[string]any{"owner": map[string]any{}, "modelFamily": map[string]any{"name": "f"}},
			want: map[string]any{"owner": "", "model_family_namespace": "", "model_family_name": "f"},
		},
		"values are typed": {
			spec: map[string]any{"algorithm": "xgboost", "revisionId": int64(7), "kind": "MODEL_KIND_CUSTOM"},
			want: map[string]any{"algorithm": "xgboost", "revision_id": int64(7), "model_kind": "MODEL_KIND_CUSTOM"},
		},
	}
	kind := lookup(t, "Model")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{}
			if tc.spec != nil {
				object["spec"] = tc.spec
			}
			values, err := index.Values(kind, object)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			for i, c := range kind.Columns {
				if _, ok := tc.want[c.Name]; ok {
					got[c.Name] = values[i]
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTimesAreConverted covers the two types of times that the driver does not accept.
func TestTimesAreConverted(t *testing.T) {
	at := time.Date(2026, 11, 21, 4, 42, 0, 500_000_000, time.UTC)
	tests := map[string]struct {
		kind, column string
		object       map[string]any
		want         any
	}{
		"a run in progress has no end":          {"PipelineRun", "end_time", map[string]any{"status": map[string]any{}}, nil},
		"a run without a status has no end":     {"PipelineRun", "end_time", nil, nil},
		"a run with a null end has no end":      {"PipelineRun", "end_time", map[string]any{"status": map[string]any{"endTime": nil}}, nil},
		"the end of a run is converted to UTC":  {"PipelineRun", "end_time", map[string]any{"status": map[string]any{"endTime": "2026-11-21T06:42:00.5+02:00"}}, at},
		"a live deployment has no time":         {"Deployment", "deletion_requested_timestamp", map[string]any{"metadata": map[string]any{}}, nil},
		"a terminating deployment has the time": {"Deployment", "deletion_requested_timestamp", map[string]any{"metadata": map[string]any{"deletionTimestamp": "2026-11-21T04:42:00.5Z"}}, at},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, valueOf(t, tc.kind, tc.column, tc.object)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValuesOfAllTypes(t *testing.T) {
	tests := map[string]struct {
		kind, column string
		object       map[string]any
		want         any
	}{
		"an absent boolean":             {"TriggerRun", "auto_flip", nil, false},
		"a boolean":                     {"TriggerRun", "auto_flip", map[string]any{"spec": map[string]any{"autoFlip": true}}, true},
		"an integer":                    {"Project", "tier", map[string]any{"spec": map[string]any{"tier": int64(3)}}, int64(3)},
		"an absent state":               {"InferenceServer", "state", nil, "INFERENCE_SERVER_STATE_INVALID"},
		"a state":                       {"InferenceServer", "state", map[string]any{"status": map[string]any{"state": "INFERENCE_SERVER_STATE_SERVING"}}, "INFERENCE_SERVER_STATE_SERVING"},
		"a state by its number":         {"InferenceServer", "state", map[string]any{"status": map[string]any{"state": int64(3)}}, "INFERENCE_SERVER_STATE_SERVING"},
		"the kind of a type":            {"Revision", "base_type", map[string]any{"spec": map[string]any{"baseType": map[string]any{"kind": "Pipeline"}}}, "Pipeline"},
		"a reference two messages deep": {"PipelineRun", "resume_pipeline_run_name", map[string]any{"spec": map[string]any{"resume": map[string]any{"pipelineRun": map[string]any{"name": "r"}}}}, "r"},
		"a reference with no parent":    {"PipelineRun", "resume_pipeline_run_name", map[string]any{"spec": map[string]any{}}, nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, valueOf(t, tc.kind, tc.column, tc.object)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

func valueOf(t *testing.T, name, column string, object map[string]any) any {
	t.Helper()
	kind := lookup(t, name)
	values, err := index.Values(kind, object)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range kind.Columns {
		if c.Name == column {
			return values[i]
		}
	}
	t.Fatalf("%s has no column %s", name, column)
	return nil
}

func TestValuesReportsUnfitValues(t *testing.T) {
	tests := map[string]struct {
		spec map[string]any
		want wire.FieldError
	}{
		"text longer than the column": {
			map[string]any{"algorithm": strings.Repeat("ü", 256)},
			wire.FieldError{Path: "spec.algorithm", Reason: "must have at most 255 characters (column algorithm)"},
		},
		"a number for text": {
			map[string]any{"owner": map[string]any{"name": int64(1)}},
			wire.FieldError{Path: "spec.owner.name", Reason: "got int64, want string"},
		},
		"text for an object": {
			map[string]any{"owner": "ada"},
			wire.FieldError{Path: "spec.owner.name", Reason: "got string, want object"},
		},
	}
	kind := lookup(t, "Model")
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := index.Values(kind, map[string]any{"spec": tc.spec})
			var got *wire.FieldError
			if !errors.As(err, &got) {
				t.Fatalf("error %v, want a FieldError", err)
			}
			if diff := cmp.Diff(tc.want, *got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
