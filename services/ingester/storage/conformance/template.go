package conformance

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// parameters returns the criteria that hold the parameters of a template: name, value, name, value, ...
func parameters(pairs ...any) *storage.ListOptionsExt {
	var c []storage.Criterion
	for i := 0; i < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		c = append(c, storage.Criterion{FieldName: name, Operator: storage.OpEqual, MatchValue: pairs[i+1]})
	}
	return criteria(c...)
}

// runs stores pipeline runs of two pipelines. Those of one refer to it with and without its namespace.
func runs(t *testing.T, s storage.IngesterStorage) {
	t.Helper()
	for i, run := range []struct {
		namespace, name string
		pipeline        map[string]any
		state           string
	}{
		{"one", "a", map[string]any{"name": "train"}, "PIPELINE_RUN_STATE_FAILED"},
		{"one", "b", map[string]any{"namespace": "one", "name": "train"}, "PIPELINE_RUN_STATE_SUCCEEDED"},
		{"two", "c", map[string]any{"namespace": "one", "name": "train"}, "PIPELINE_RUN_STATE_FAILED"},
		{"two", "d", map[string]any{"name": "train"}, "PIPELINE_RUN_STATE_FAILED"}, // of another pipeline: two/train
		{"one", "e", map[string]any{"name": "eval"}, "PIPELINE_RUN_STATE_RUNNING"},
	} {
		o := object("PipelineRun", run.namespace, run.name, i, map[string]any{"pipeline": run.pipeline})
		o.Object["status"] = map[string]any{"state": run.state}
		upsert(t, s, o)
	}
}

func templates(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	runs(t, s)
	for name, tc := range map[string]struct {
		id   string
		ext  *storage.ListOptionsExt
		want string
	}{
		"a reference without a namespace means the own one": {"runs-of-pipeline", parameters("namespace", "one", "name", "train"), "c b a"},
		"the newest":       {"latest-run-of-pipeline", parameters("namespace", "one", "name", "train"), "c"},
		"state and time":   {"runs-by-state-since", parameters("state", "PIPELINE_RUN_STATE_FAILED", "since", at(2)), "d c"},
		"in a namespace":   {"runs-by-state-since", parameters("state", 5, "since", at(0), "namespace", "one"), "a"},
		"the oldest first": {"unfinished-runs", nil, "a b c d e"},
		"no namespace":     {"created-since", parameters("since", at(3).Format("2006-01-02T15:04:05Z07:00")), "e d"},
	} {
		t.Run(name, func(t *testing.T) {
			var response storage.ListResponse
			if err := s.QueryByTemplateID(t.Context(), typeOf("PipelineRun"), tc.id, tc.ext, &response); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Fields(tc.want), names(t, response.Items)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	ext := parameters("namespace", "one", "name", "train")
	ext.Pagination = &storage.Pagination{Offset: 1, Limit: 1}
	ext.ReturnedFieldSkipList = []string{"spec"}
	var response storage.ListResponse
	if err := s.QueryByTemplateID(t.Context(), typeOf("PipelineRun"), "runs-of-pipeline", ext, &response); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b"}, names(t, response.Items)); diff != "" || response.RemainingItemCount == nil || *response.RemainingItemCount != 1 {
		t.Errorf("the second of three, %v remaining (-want +got):\n%s", response.RemainingItemCount, diff)
	}
}

func templatesAreChecked(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	query := func(id string, ext *storage.ListOptionsExt) error {
		return s.QueryByTemplateID(t.Context(), typeOf("PipelineRun"), id, ext, &storage.ListResponse{})
	}
	invalid(t, query("unicorn", nil), "runs-by-state-since(state, since, [namespace])")
	invalid(t, query("models-by-family", nil), "models-by-family") // of another kind
	invalid(t, query("runs-of-pipeline", parameters("namespace", "one")), `"name" is required`)
	invalid(t, query("runs-of-pipeline", parameters("namespace", "one", "name", "")), `"name"`)
	invalid(t, query("runs-of-pipeline", parameters("namespace", "one", "name", 3)), `"name"`)
	invalid(t, query("runs-by-actor", parameters("actor", "ada", "unicorn", 1)), `unknown parameter "unicorn"`)
	invalid(t, query("runs-by-actor", parameters("actor", "ada", "actor", "bob")), "twice")
	invalid(t, query("created-since", parameters("since", "yesterday")), "yesterday")
	other := parameters("actor", "ada")
	other.Operation.Criteria[0].Operator = storage.OpLike
	invalid(t, query("runs-by-actor", other), "EQUAL")
	nested := &storage.ListOptionsExt{Operation: &storage.CriterionOperation{SubOperations: []storage.CriterionOperation{*parameters("actor", "ada").Operation}}}
	invalid(t, query("runs-by-actor", nested), "nesting")
	ordered := parameters("actor", "ada")
	ordered.OrderBy = []storage.OrderBy{{Field: "name"}}
	invalid(t, query("runs-by-actor", ordered), "order")
}
