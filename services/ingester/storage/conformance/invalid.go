package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func invalidRequestsAreRejected(t *testing.T, open Open) {
	t.Helper()
	s := open(t)
	models(t, s)
	seconds, sendEvents := int64(-1), true
	for invalidPart, o := range map[string]metav1.ListOptions{
		`"team in growth"`:      {LabelSelector: "team in growth"},
		"team=-x-":              {LabelSelector: "team=-x-"},
		`"spec.positive_label"`: {FieldSelector: "spec.positive_label=x"}, // a field, but not indexed
		`"unicorn"`:             {FieldSelector: "unicorn=x"},
		`"metadata.name"`:       {FieldSelector: "metadata.name"},
		"MODEL_KIND_UNICORN":    {FieldSelector: "spec.kind=MODEL_KIND_UNICORN"},
		`"many"`:                {FieldSelector: "spec.revision_id=many"},
		`"today"`:               {FieldSelector: "metadata.creation_timestamp=today"},
		"limit -1":              {Limit: -1},
		"watch":                 {Watch: true},
		"sendInitialEvents":     {SendInitialEvents: &sendEvents},
		`"17"`:                  {ResourceVersion: "17"},
		`"Exact"`:               {ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		"timeoutSeconds":        {TimeoutSeconds: &seconds},
		"shardSelector":         {ShardSelector: "x"},
		`"not a token"`:         {Continue: "not a token"},
		`"e30x"`:                {Continue: "e30x"},
		"version 0":             {Continue: "e30"},
	} {
		var response storage.ListResponse
		invalid(t, s.List(t.Context(), typeOf("Model"), "", &o, nil, &response), invalidPart)
		if o.Limit >= 0 && o.Continue == "" { // an invalid request must delete nothing
			invalid(t, s.DeleteCollection(t.Context(), typeOf("Model"), "", nil, &o), invalidPart)
		}
	}
	for invalidPart, ext := range invalidExt() {
		var response storage.ListResponse
		invalid(t, s.List(t.Context(), typeOf("Model"), "", nil, ext, &response), invalidPart)
	}
	invalid(t, s.List(t.Context(), typeOf("Model"), "", nil, nil, nil), "response")
	invalid(t, s.List(t.Context(), typeOf("Model"), "\xff", nil, nil, &storage.ListResponse{}), "metadata.namespace")
	if got := list(t, s, "Model", "", metav1.ListOptions{ResourceVersion: "0"}, &storage.ListOptionsExt{}); len(got) != 4 {
		t.Errorf("%d objects, want 4: nothing was deleted, and resourceVersion 0 is any version", len(got))
	}
}

func invalidExt() map[string]*storage.ListOptionsExt {
	one := func(field string, operator storage.CriterionOperator, value any) *storage.ListOptionsExt {
		return criteria(storage.Criterion{FieldName: field, Operator: operator, MatchValue: value})
	}
	ok := storage.Criterion{FieldName: "name", Operator: storage.OpEqual, MatchValue: "a"}
	deep := storage.CriterionOperation{Criteria: []storage.Criterion{ok}}
	for range 8 {
		deep = storage.CriterionOperation{SubOperations: []storage.CriterionOperation{deep}}
	}
	return map[string]*storage.ListOptionsExt{
		`"unicorn"`:          one("unicorn", storage.OpEqual, "x"),
		"operator 0":         one("name", storage.OpInvalid, "x"),
		"operator 12":        one("name", 12, "x"),
		"want string":        one("name", storage.OpEqual, 3),
		"is required":        one("name", storage.OpEqual, nil),
		"UTF-8":              one("name", storage.OpEqual, "\xff"),
		"want integer":       one("spec.revision_id", storage.OpEqual, 1.5),
		"require a list":     one("name", storage.OpIn, "a"),
		"list of values":     one("name", storage.OpNotIn, []string{}),
		"1000 values":        one("name", storage.OpIn, slices.Repeat([]string{"a"}, 1001)),
		"LIKE requires":      one("spec.revision_id", storage.OpLike, "1%"),
		"single backslash":   one("name", storage.OpLike, `a\\\`),
		"no order":           one("spec.kind", storage.OpGreaterThan, "MODEL_KIND_CUSTOM"),
		"take no value":      one("name", storage.OpIsNull, "x"),
		"out of range":       one("metadata.creation_timestamp", storage.OpLessThan, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"longer than":        one("name", storage.OpEqual, strings.Repeat("x", 5000)),
		"logical operator 2": {Operation: &storage.CriterionOperation{LogicalOperator: 2, Criteria: []storage.Criterion{ok}}},
		"neither":            {Operation: &storage.CriterionOperation{LogicalOperator: storage.Or}},
		"deeper than 8":      {Operation: &deep},
		"more than 100":      {Operation: &storage.CriterionOperation{Criteria: slices.Repeat([]storage.Criterion{ok}, 101)}},
		`"spec.decision"`:    {OrderBy: []storage.OrderBy{{Field: "spec.decision"}}},
		"direction 3":        {OrderBy: []storage.OrderBy{{Field: "name", Dir: 3}}},
		"named twice":        {OrderBy: []storage.OrderBy{{Field: "name"}, {Field: "metadata.name"}}},
		"order has 9":        {OrderBy: slices.Repeat([]storage.OrderBy{{Field: "name"}}, 9)},
		"offset -1":          {Pagination: &storage.Pagination{Offset: -1}},
		"skip list has":      {ReturnedFieldSkipList: slices.Repeat([]string{"spec.source"}, 101)},
	}
}
