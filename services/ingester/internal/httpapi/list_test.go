package httpapi

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func TestListParsesParameters(t *testing.T) {
	tests := map[string]struct {
		parameters url.Values
		want       listRequest
	}{
		"nothing": {nil, listRequest{options: metav1.ListOptions{Limit: defaultLimit}}},
		"everything of Kubernetes": {
			url.Values{paramLabels: {"team in (a,b),!x"}, paramFields: {"spec.algorithm=xgboost"}, paramLimit: {"1000"}, paramContinue: {"token"}},
			listRequest{options: metav1.ListOptions{LabelSelector: "team in (a,b),!x", FieldSelector: "spec.algorithm=xgboost", Limit: 1000, Continue: "token"}},
		},
		"order and fields to skip": {
			url.Values{paramOrder: {"algorithm,metadata.name:asc,spec.revision_id:desc"}, paramSkip: {"spec.input_schema,status"}},
			listRequest{
				options: metav1.ListOptions{Limit: defaultLimit},
				ext: storage.ListOptionsExt{
					OrderBy:               []storage.OrderBy{{Field: "algorithm", Dir: storage.SortAsc}, {Field: "metadata.name", Dir: storage.SortAsc}, {Field: "spec.revision_id", Dir: storage.SortDesc}},
					ReturnedFieldSkipList: []string{"spec.input_schema", "status"},
				},
			},
		},
		"criteria": {
			url.Values{paramFilter: {`{"logicalOperator":"OR","criterion":[{"fieldName":"algorithm","operator":"EQUAL","matchValue":"a"},
				{"fieldName":"revision_id","operator":"CRITERION_OPERATOR_IN","matchValue":[1,2.5,true]}],
				"subOperations":[{"criterion":[{"fieldName":"end_time","operator":10},{"fieldName":"x","operator":"less_than","matchValue":{"@type":"type.googleapis.com/google.protobuf.Int64Value","value":9007199254740993}}]}]}`}},
			listRequest{
				options: metav1.ListOptions{Limit: defaultLimit},
				ext: storage.ListOptionsExt{Operation: &storage.CriterionOperation{
					LogicalOperator: storage.Or,
					Criteria: []storage.Criterion{
						{FieldName: "algorithm", Operator: storage.OpEqual, MatchValue: "a"},
						{FieldName: "revision_id", Operator: storage.OpIn, MatchValue: []any{int64(1), 2.5, true}},
					},
					SubOperations: []storage.CriterionOperation{{Criteria: []storage.Criterion{
						{FieldName: "end_time", Operator: storage.OpIsNull},
						{FieldName: "x", Operator: storage.OpLessThan, MatchValue: int64(9007199254740993)},
					}}},
				}},
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t)
			var list map[string]any
			b.into(b.send(http.MethodGet, objects+"?"+tc.parameters.Encode(), ""), http.StatusOK, &list)
			if diff := cmp.Diff(tc.want, b.store.request, cmp.AllowUnexported(listRequest{})); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if b.store.namespace != "default" {
				t.Errorf("namespace %q", b.store.namespace)
			}
		})
	}
}

func TestListRejectsInvalidParameters(t *testing.T) {
	tests := map[string]struct {
		parameter, value, want string
	}{
		"a limit that is not a number":   {paramLimit, "many", `parameter "limit" must be a number from 1 to 1000, is "many"`},
		"a limit of zero":                {paramLimit, "0", `parameter "limit" must be a number from 1 to 1000, is "0"`},
		"a limit that is too large":      {paramLimit, "1001", `from 1 to 1000, is "1001"`},
		"an unknown direction":           {paramOrder, "name:up", `has direction "up", want asc or desc`},
		"an order without a field":       {paramOrder, "name,:asc", `names no field`},
		"a filter that is not JSON":      {paramFilter, "x", `parameter "filter" cannot be read`},
		"a filter with an unknown field": {paramFilter, `{"criteria":[]}`, `unknown field "criteria"`},
		"two filters":                    {paramFilter, `{} {}`, "more than one document"},
		"an unknown operator":            {paramFilter, `{"criterion":[{"fieldName":"f","operator":"ABOUT"}]}`, `criterion of field "f": operator: got "ABOUT", want one of INVALID, EQUAL`},
		"an unknown operator number":     {paramFilter, `{"criterion":[{"fieldName":"f","operator":12}]}`, `operator: got 12, want one of`},
		"an unknown logical operator":    {paramFilter, `{"logicalOperator":"XOR"}`, `logicalOperator: got "XOR", want one of AND, OR`},
		"a value that is an object":      {paramFilter, `{"criterion":[{"fieldName":"f","operator":1,"matchValue":{"a":1}}]}`, `matchValue: an object must be`},
		"a nested list":                  {paramFilter, `{"criterion":[{"fieldName":"f","operator":7,"matchValue":[[1]]}]}`, `must hold strings, numbers and booleans only`},
		"a nested unknown operator":      {paramFilter, `{"subOperations":[{"subOperations":[{"criterion":[{"fieldName":"g","operator":"no"}]}]}]}`, `criterion of field "g"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b := newEnv(t)
			v := url.Values{tc.parameter: {tc.value}}
			s := b.status(b.send(http.MethodGet, objects+"?"+v.Encode(), ""), http.StatusBadRequest, tc.want)
			if s.Reason != metav1.StatusReasonBadRequest {
				t.Errorf("reason %q", s.Reason)
			}
		})
	}
}

func TestListReturnsListObject(t *testing.T) {
	b := newEnv(t)
	var remaining int64 = 41
	b.store.list = storage.ListResponse{Continue: "next", RemainingItemCount: &remaining, Items: []runtime.Object{model(3)}}
	var list unstructured.UnstructuredList
	a := b.send(http.MethodGet, root+"/models", "")
	if err := list.UnmarshalJSON(a.body); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
	if list.GetKind() != "ModelList" || list.GetContinue() != "next" || *list.GetRemainingItemCount() != 41 || len(list.Items) != 1 ||
		list.Items[0].GetName() != "churn" || a.Header.Get(sourceHeader) != sourceStorage || b.store.namespace != "" {
		t.Errorf("%s of namespace %q from %s", a.body, b.store.namespace, a.Header.Get(sourceHeader))
	}
	b.store.list = storage.ListResponse{}
	if a := b.send(http.MethodGet, root+"/models", ""); !strings.Contains(string(a.body), `"items":[]`) {
		t.Errorf("an empty list is %s", a.body)
	}
}

func TestListErrInvalidIsBadRequest(t *testing.T) {
	b := newEnv(t)
	b.store.err = storage.ErrInvalid
	b.status(b.send(http.MethodGet, objects, ""), http.StatusBadRequest, "invalid request to storage")
}

func TestQueryParsesBody(t *testing.T) {
	b := newEnv(t)
	body := `{"orderBy":[{"field":"name","dir":"DESC"},{"field":"uid"}],"operation":{"criterion":[{"fieldName":"name","operator":"LIKE","matchValue":"a%"}]},
		"pagination":{"offset":20,"limit":10},"returnedFieldSkipList":["spec.input_schema"]}`
	var list map[string]any
	b.into(b.send(http.MethodPost, objects+suffixQuery+"?labelSelector=team%3Dgrowth", body), http.StatusOK, &list)
	want := listRequest{
		options: metav1.ListOptions{LabelSelector: "team=growth", Limit: 10},
		ext: storage.ListOptionsExt{
			OrderBy:               []storage.OrderBy{{Field: "name", Dir: storage.SortDesc}, {Field: "uid"}},
			Operation:             &storage.CriterionOperation{Criteria: []storage.Criterion{{FieldName: "name", Operator: storage.OpLike, MatchValue: "a%"}}},
			Pagination:            &storage.Pagination{Offset: 20, Limit: 10},
			ReturnedFieldSkipList: []string{"spec.input_schema"},
		},
	}
	if diff := cmp.Diff(want, b.store.request, cmp.AllowUnexported(listRequest{})); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	b.into(b.send(http.MethodPost, root+"/models"+suffixQuery+"?limit=5", `{"pagination":{"limit":10}}`), http.StatusOK, &list)
	if got := b.store.request.options.Limit; got != 5 {
		t.Errorf("the limit of the URL is %d, want 5", got)
	}
	for body, want := range map[string]string{
		`{"labelSelector":"a=b"}`:                     `unknown field "labelSelector"`,
		`{"pagination":{"limit":1001}}`:               "a limit from 1 to 1000",
		`{"pagination":{"offset":-1,"limit":1}}`:      "an offset from 0",
		`{"pagination":{"offset":1}}`:                 "a limit from 1 to 1000",
		`{"orderBy":[{"field":"name","dir":"down"}]}`: `dir of orderBy "name": got "down", want one of`,
		`[]`: "the body cannot be read",
		`{"operation":{"logicalOperator":["AND"]}}`:    "logicalOperator",
		strings.Repeat(`{"operation":`, 20_000) + `{}`: "the body cannot be read",
	} {
		b.status(b.send(http.MethodPost, objects+suffixQuery, body), http.StatusBadRequest, want)
	}
	b.status(b.send(http.MethodPost, objects+suffixQuery, "a: b", "Content-Type", "application/yaml"), http.StatusUnsupportedMediaType, `must be application/json, is "application/yaml"`)
	b.status(b.send(http.MethodPost, objects+suffixQuery, strings.Repeat(" ", maxBody+1)), http.StatusRequestEntityTooLarge, "longer than 1048576 bytes")
}

// Namespace, selectors and pages apply to a template as to other requests.
func TestTemplates(t *testing.T) {
	b := newEnv(t)
	var list map[string]any
	since := "2026-11-21T04:42:00Z"
	filter := url.QueryEscape(`{"criterion":[{"fieldName":"since","operator":"EQUAL","matchValue":"` + since + `"}]}`)
	b.into(b.send(http.MethodGet, objects+"?template=created-since&limit=7&labelSelector=a&continue=next&filter="+filter, ""), http.StatusOK, &list)
	want := listRequest{
		options: metav1.ListOptions{LabelSelector: "a", Limit: 7, Continue: "next"},
		ext: storage.ListOptionsExt{
			Operation: &storage.CriterionOperation{Criteria: []storage.Criterion{{FieldName: "metadata.creation_timestamp", Operator: storage.OpGreaterThanOrEqual, MatchValue: since}}},
		},
	}
	if diff := cmp.Diff(want, b.store.request, cmp.AllowUnexported(listRequest{})); diff != "" || b.store.namespace != "default" {
		t.Errorf("request in %q (-want +got):\n%s", b.store.namespace, diff)
	}
	remaining := int64(3)
	b.store.list = storage.ListResponse{Continue: "next", RemainingItemCount: &remaining}
	filter = url.QueryEscape(`{"criterion":[{"fieldName":"namespace","operator":"EQUAL","matchValue":"default"},{"fieldName":"name","operator":"EQUAL","matchValue":"churn"}]}`)
	for template, continues := range map[string]bool{"latest-model-of-family": false, "models-by-family": true} {
		var page objectList
		b.into(b.send(http.MethodGet, objects+"?template="+template+"&filter="+filter, ""), http.StatusOK, &page)
		if got := page.Metadata.Continue == "next" && page.Metadata.RemainingItemCount != nil; got != continues {
			t.Errorf("%s: metadata %+v, want a further page: %t", template, page.Metadata, continues)
		}
	}
	b.status(b.send(http.MethodGet, objects+"?template=none", ""), http.StatusBadRequest, `unknown template "none" of kind Model, want one of created-since(since`)
	b.status(b.send(http.MethodGet, objects+"?template=created-since", ""), http.StatusBadRequest, `parameter "since" is required`)
	b.status(b.send(http.MethodGet, objects+"?template=created-since&orderBy=name&filter="+filter, ""), http.StatusBadRequest, "has an order of its own")
}
