package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// models stores four Models, the newest last.
func models(t *testing.T, s storage.IngesterStorage) {
	t.Helper()
	a := object("Model", "one", "a", 0, map[string]any{"algorithm": "xgboost", "sourcePipelineRun": map[string]any{"name": "run-1"}})
	a.SetLabels(map[string]string{"team": "growth", "tier": "gold", "size": "5"})
	b := object("Model", "one", "b", 1, map[string]any{"algorithm": "lightgbm", "kind": "MODEL_KIND_CUSTOM", "revisionId": int64(3)})
	b.SetLabels(map[string]string{"team": "fraud", "tier": "gold", "size": "50"})
	c := object("Model", "two", "c", 2, map[string]any{"owner": map[string]any{"name": "ada"}, "revisionId": int64(7)})
	c.SetLabels(map[string]string{"team": "growth", "size": "big"})
	d := object("Model", "two", "d", 3, map[string]any{"owner": map[string]any{}})
	upsert(t, s, a, b, c, d)
}

func fieldsHaveThreeNames(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	upsert(t, s, object("Deployment", "one", "d", 0, nil))
	for _, name := range []string{"spec.source_pipeline_run.name", "spec.sourcePipelineRun.name", "src_pipeline_run_name"} {
		if diff := cmp.Diff([]string{"a"}, list(t, s, "Model", "", metav1.ListOptions{FieldSelector: name + "=run-1"}, nil)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		ext := &storage.ListOptionsExt{OrderBy: []storage.OrderBy{{Field: name, Dir: storage.SortDesc}}}
		if got := list(t, s, "Model", "", metav1.ListOptions{Limit: 1}, ext); got[0] != "a" {
			t.Errorf("ordered by %s: %v, want a first", name, got)
		}
	}
	for _, name := range []string{"metadata.deletion_timestamp", "metadata.deletionTimestamp", "deletion_requested_timestamp"} {
		if got := list(t, s, "Deployment", "", metav1.ListOptions{FieldSelector: name + "="}, nil); len(got) != 1 {
			t.Errorf("%s: %v, want the deployment", name, got)
		}
	}
}

func selectorsFollowKubernetes(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	for name, tc := range map[string]struct{ labels, fields, want string }{
		"nothing chooses all, the newest first": {"", "", "d c b a"},
		"=":                                     {"team=growth", "", "c a"},
		"==":                                    {"team==growth", "", "c a"},
		"!= chooses objects without the key":    {"team!=growth", "", "d b"},
		"in":                                    {"team in (growth, fraud)", "", "c b a"},
		"notin chooses objects without the key": {"team notin (growth, ops)", "", "d b"},
		"exists":                                {"tier", "", "b a"},
		"not exists":                            {"!tier", "", "d c"},
		"greater, numbers only":                 {"size>7", "", "b"},
		"less, numbers only":                    {"size<51", "", "b a"},
		"several are joined":                    {"team=growth,!tier", "", "c"},
		"values are case-sensitive":             {"team=Growth", "", ""},
		"name":                                  {"", "metadata.name=b", "b"},
		"namespace and not name":                {"", "metadata.namespace=two,metadata.name!=c", "d"},
		"uid":                                   {"", "metadata.uid=uid-one-a", "a"},
		"text":                                  {"", "spec.algorithm=xgboost", "a"},
		"the empty text":                        {"", "spec.algorithm=", "d c"},
		"an absent message is the empty text":   {"", "spec.owner.name=", "d b a"},
		"not the empty text":                    {"", "spec.owner.name!=", "c"},
		"!= chooses objects without the field":  {"", "spec.owner.name!=ada", "d b a"},
		"an enum by name":                       {"", "spec.kind=MODEL_KIND_CUSTOM", "b"},
		"the zero of an enum":                   {"", "spec.kind!=MODEL_KIND_CUSTOM", "d c a"},
		"a number":                              {"", "spec.revision_id==7", "c"},
		"labels and fields":                     {"tier=gold", "spec.revision_id!=0", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: tc.labels, FieldSelector: tc.fields}, nil)
			if diff := cmp.Diff(strings.Fields(tc.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff([]string{"a"}, list(t, s, "Model", "one", metav1.ListOptions{LabelSelector: "team=growth"}, nil)); diff != "" {
		t.Errorf("of a namespace (-want +got):\n%s", diff)
	}
}

func criteriaCompareByType(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	for i, end := range []any{"2026-11-21T05:00:00Z", "2026-11-21T05:00:00.5Z", nil} {
		run := object("PipelineRun", "one", string(rune('a'+i)), i, nil)
		status := map[string]any{"state": []any{"PIPELINE_RUN_STATE_FAILED", "PIPELINE_RUN_STATE_RUNNING", nil}[i], "endTime": end}
		for key, value := range status {
			if value != nil {
				if err := unstructured.SetNestedField(run.Object, value, "status", key); err != nil {
					t.Fatal(err)
				}
			}
		}
		upsert(t, s, run)
	}
	half := time.Date(2026, 11, 21, 6, 0, 0, 500_000_000, time.FixedZone("CET", 3600))
	for name, tc := range map[string]struct {
		c    storage.Criterion
		want string
	}{
		"equal time, any zone":        {storage.Criterion{FieldName: "status.end_time", Operator: storage.OpEqual, MatchValue: half}, "b"},
		"not equal takes absent ones": {storage.Criterion{FieldName: "status.end_time", Operator: storage.OpNotEqual, MatchValue: half}, "c a"},
		"greater":                     {storage.Criterion{FieldName: "end_time", Operator: storage.OpGreaterThan, MatchValue: "2026-11-21T05:00:00Z"}, "b"},
		"greater or equal":            {storage.Criterion{FieldName: "end_time", Operator: storage.OpGreaterThanOrEqual, MatchValue: "2026-11-21T05:00:00Z"}, "b a"},
		"less":                        {storage.Criterion{FieldName: "end_time", Operator: storage.OpLessThan, MatchValue: metav1.NewTime(half)}, "a"},
		"less or equal":               {storage.Criterion{FieldName: "end_time", Operator: storage.OpLessThanOrEqual, MatchValue: half}, "b a"},
		"in":                          {storage.Criterion{FieldName: "metadata.name", Operator: storage.OpIn, MatchValue: []string{"a", "c", "z"}}, "c a"},
		"not in":                      {storage.Criterion{FieldName: "metadata.name", Operator: storage.OpNotIn, MatchValue: []any{"a", "c"}}, "b"},
		"like":                        {storage.Criterion{FieldName: "status.state", Operator: storage.OpLike, MatchValue: `PIPELINE\_RUN%ED`}, "a"},
		"is null":                     {storage.Criterion{FieldName: "status.endTime", Operator: storage.OpIsNull}, "c"},
		"is not null":                 {storage.Criterion{FieldName: "status.endTime", Operator: storage.OpIsNotNull}, "b a"},
		"an enum by number":           {storage.Criterion{FieldName: "state", Operator: storage.OpEqual, MatchValue: 2}, "b"},
		"the zero of an enum":         {storage.Criterion{FieldName: "state", Operator: storage.OpEqual, MatchValue: "PIPELINE_RUN_STATE_INVALID"}, "c"},
		"creation time":               {storage.Criterion{FieldName: "metadata.creation_timestamp", Operator: storage.OpGreaterThan, MatchValue: minute}, "c b"},
		"update time":                 {storage.Criterion{FieldName: "metadata.update_timestamp", Operator: storage.OpLessThan, MatchValue: minute.AddDate(-90, 0, 0)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Fields(tc.want), list(t, s, "PipelineRun", "", metav1.ListOptions{}, criteria(tc.c))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func onlyLiveObjectsAreListed(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	recreated := object("Model", "one", "a", 9, nil)
	recreated.SetUID("uid-again")
	recreated.SetResourceVersion("5")
	closed := object("Model", "one", "b", 1, nil)
	closed.SetResourceVersion("2")
	evicted := object("Model", "two", "c", 2, nil)
	evicted.SetResourceVersion("2")
	upsert(t, s, recreated)
	if err := s.Finish(t.Context(), closed); err != nil {
		t.Fatal(err)
	}
	if err := s.Evict(t.Context(), evicted); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a", "d", "c"}, list(t, s, "Model", "", metav1.ListOptions{}, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := list(t, s, "Model", "", metav1.ListOptions{LabelSelector: "team"}, nil); len(got) != 0 {
		t.Errorf("labels of closed and changed rows choose %v", got)
	}
}

func skippedFieldsAreOmitted(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	m := object("Model", "one", "a", 0, map[string]any{
		"algorithm":     "xgboost",
		"inputSchema":   map[string]any{"schemaItems": []any{map[string]any{"name": "age"}}},
		"qualityScores": []any{map[string]any{"name": "auc", "value": 0.5}, map[string]any{"name": "f1", "value": 0.7}},
		"featureImportanceList": []any{map[string]any{"featureImportance": map[string]any{
			"age": map[string]any{"mean": 0.1, "stdDev": 0.2},
		}}},
	})
	m.SetAnnotations(map[string]string{"note": "long"})
	upsert(t, s, m)
	ext := &storage.ListOptionsExt{ReturnedFieldSkipList: []string{
		"spec.input_schema", "spec.output_schema", "spec.quality_scores.value", "metadata.annotations",
		"spec.feature_importance_list.feature_importance.std_dev",
	}}
	var response storage.ListResponse
	if err := s.List(t.Context(), typeOf("Model"), "", nil, ext, &response); err != nil {
		t.Fatal(err)
	}
	want := m.DeepCopy()
	want.SetAnnotations(nil)
	want.Object["spec"] = map[string]any{
		"algorithm":     "xgboost",
		"qualityScores": []any{map[string]any{"name": "auc"}, map[string]any{"name": "f1"}},
		"featureImportanceList": []any{map[string]any{"featureImportance": map[string]any{
			"age": map[string]any{"mean": 0.1},
		}}},
	}
	if diff := cmp.Diff(want, response.Items[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{"spec.unicorn", "spec.algorithm.x", "metadata", "type_meta.kind", "", "spec.input_schema.schema_items.nowhere"} {
		ext := &storage.ListOptionsExt{ReturnedFieldSkipList: []string{path}}
		invalid(t, s.List(t.Context(), typeOf("Model"), "", nil, ext, &response), fmt.Sprintf("%q", path))
	}
}
