package index_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

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

func TestTimesAreConverted(t *testing.T) {
	model := lookup(t, "Model")
	metadata := model.Message.Fields().ByName("metadata")
	kind := &registry.Kind{Columns: []registry.Column{{
		Name: "deleted_at", Type: registry.Time,
		Path: append(pathTo(metadata), metadata.Message().Fields().ByName("deletionTimestamp")),
	}}}
	tests := map[string]struct {
		metadata map[string]any
		want     any
	}{
		"an absent time is NULL":     {map[string]any{}, nil},
		"a null time is NULL":        {map[string]any{"deletionTimestamp": nil}, nil},
		"a time is converted to UTC": {map[string]any{"deletionTimestamp": "2026-11-21T06:42:00.5+02:00"}, time.Date(2026, 11, 21, 4, 42, 0, 500_000_000, time.UTC)},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			values, err := index.Values(kind, map[string]any{"metadata": tc.metadata})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{tc.want}, values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

func TestValuesThatDoNotFitAreNamed(t *testing.T) {
	tests := map[string]struct {
		spec map[string]any
		want wire.FieldError
	}{
		"text longer than the column": {
			map[string]any{"algorithm": strings.Repeat("ü", 256)},
			wire.FieldError{Path: "spec.algorithm", Reason: "longer than the 255 characters of column algorithm"},
		},
		"a number for text": {
			map[string]any{"owner": map[string]any{"name": int64(1)}},
			wire.FieldError{Path: "spec.owner.name", Reason: "want text, have int64"},
		},
		"text for an object": {
			map[string]any{"owner": "ada"},
			wire.FieldError{Path: "spec.owner.name", Reason: "want an object, have string"},
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

func pathTo(fields ...protoreflect.FieldDescriptor) []protoreflect.FieldDescriptor { return fields }
