package query_test

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/ingester/api"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/query"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

func kindOf(t testing.TB, name string) *registry.Kind {
	t.Helper()
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	kind, ok := kinds.Lookup(name)
	if !ok {
		t.Fatalf("kind %q is not registered", name)
	}
	return kind
}

func compile(t testing.TB, o metav1.ListOptions, order ...storage.OrderBy) *query.Plan {
	t.Helper()
	plan, err := query.Compile(query.Request{Kind: kindOf(t, "Model"), Options: &o, Ext: &storage.ListOptionsExt{OrderBy: order}})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

const (
	byLabel = " FROM `model_labels` d FORCE INDEX (idx_key_value) STRAIGHT_JOIN `model` t ON t.uid = d.obj_uid WHERE d.`key` = ?"
	byOrder = " FROM `model` c FORCE INDEX (`idx_delete_time_create_time`) STRAIGHT_JOIN `model_labels` l0 FORCE INDEX (idx_obj_uid_key) ON l0.obj_uid = c.uid AND "
	plainly = " FROM `model` t FORCE INDEX (idx_delete_time_create_time) WHERE t.delete_time IS NULL"
)

func TestPlanSelectsCheapestForm(t *testing.T) {
	byName := storage.OrderBy{Field: "name"}
	for name, tc := range map[string]struct {
		labels string
		counts []int
		order  []storage.OrderBy
		want   string
	}{
		"a label that matches few leads":               {"team=growth", []int{1000}, nil, byLabel},
		"a label that matches many is looked up":       {"team=growth", []int{1001}, nil, byOrder},
		"the rarer of two leads":                       {"team=growth,tier=gold", []int{900, 20}, nil, byLabel + " AND d.value = ? AND t.delete_time IS NULL AND EXISTS"},
		"one rare label is enough":                     {"team=growth,tier=gold", []int{1001, 0}, nil, byLabel},
		"no order index: the label leads all the same": {"team=growth", []int{1001}, []storage.OrderBy{byName}, byLabel},
		"labels that must be absent lead nowhere":      {"team!=growth,!tier", nil, nil, plainly + " AND NOT EXISTS"},
		"without labels the index of the order leads":  {"", nil, nil, plainly + " ORDER BY t.`create_time` DESC, t.`uid` DESC LIMIT"},
		"without labels the server chooses otherwise":  {"", nil, []storage.OrderBy{byName}, " FROM `model` t IGNORE INDEX (idx_delete_time, idx_create_time) WHERE"},
		"an indexed column has an order index as well": {"team=growth", []int{1001}, []storage.OrderBy{{Field: "algorithm"}}, "c FORCE INDEX (`idx_algorithm`)"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := compile(t, metav1.ListOptions{LabelSelector: tc.labels, Limit: 10}, tc.order...)
			if got := len(plan.Probes()); got != len(tc.counts) {
				t.Fatalf("%d probes, want %d", got, len(tc.counts))
			}
			plan.Choose(tc.counts, query.Selective)
			page := plan.Page()
			if !strings.Contains(page.SQL, tc.want) {
				t.Errorf("SQL %s\ndoes not contain %s", page.SQL, tc.want)
			}
			if marks := strings.Count(page.SQL, "?"); marks != len(page.Args) {
				t.Errorf("%d placeholders for %d arguments in %s", marks, len(page.Args), page.SQL)
			}
		})
	}
}

// TestRepeatedLabelRequirementsAreMerged has several requirements of a label, each of which would cost a probe.
func TestRepeatedLabelRequirementsAreMerged(t *testing.T) {
	plan := compile(t, metav1.ListOptions{LabelSelector: "app>1,app>5,app>3,app<9,app<7,app<8,team=a,team=a,team in (a,b),tier,tier,!x,!x"})
	var got []any
	for _, p := range plan.Probes() {
		got = append(got, p.Args...)
	}
	unbounded, limit := int64(math.MaxInt64), query.Selective+1
	want := []any{"app", unbounded, int64(5), limit, "app", unbounded, int64(7), limit, "team", "a", limit, "team", "a", "b", limit, "tier", limit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("arguments of the probes (-want +got):\n%s", diff)
	}
	if n := strings.Count(plan.Page().SQL, "NOT EXISTS"); n != 1 {
		t.Errorf("%d conditions of the absent label, want 1", n)
	}
}

func TestPlanScansOneNamespaceInOrder(t *testing.T) {
	plan, err := query.Compile(query.Request{
		Kind: kindOf(t, "Model"), Namespace: "one", Options: &metav1.ListOptions{LabelSelector: "team"},
		Ext: &storage.ListOptionsExt{OrderBy: []storage.OrderBy{{Field: "name"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan.Choose([]int{1001}, query.Selective)
	for _, want := range []string{"c FORCE INDEX (`idx_namespace_name`)", "WHERE c.namespace = ? AND", "ORDER BY c.`name`, c.`uid` LIMIT"} {
		if sql := plan.Page().SQL; !strings.Contains(sql, want) {
			t.Errorf("SQL %s\ndoes not contain %s", sql, want)
		}
	}
}

func TestSQLTextHasNoValues(t *testing.T) {
	const injection = `x' OR 1=1 -- "`
	ext := &storage.ListOptionsExt{Operation: &storage.CriterionOperation{Criteria: []storage.Criterion{
		{FieldName: "name", Operator: storage.OpEqual, MatchValue: injection},
		{FieldName: "name", Operator: storage.OpIn, MatchValue: []string{injection, injection}},
		{FieldName: "name", Operator: storage.OpLike, MatchValue: injection},
		{FieldName: "name", Operator: storage.OpGreaterThan, MatchValue: injection},
	}}, ReturnedFieldSkipList: []string{"spec.input_schema"}}
	plan, err := query.Compile(query.Request{
		Kind: kindOf(t, "Model"), Namespace: injection, Ext: ext,
		Options: &metav1.ListOptions{FieldSelector: "metadata.name!=" + strings.ReplaceAll(injection, "=", `\=`), LabelSelector: "evil", Limit: 7},
	})
	if err != nil {
		t.Fatal(err)
	}
	count, _ := plan.Count(7)
	for _, s := range append(plan.Probes(), plan.Page(), plan.Rows(5), plan.Matching([]string{injection}), count) {
		if strings.Contains(s.SQL, "1=1") || strings.Contains(s.SQL, "evil") || strings.Contains(s.SQL, "inputSchema") {
			t.Errorf("the text has a value: %s", s.SQL)
		}
		if marks := strings.Count(s.SQL, "?"); marks != len(s.Args) {
			t.Errorf("%d placeholders for %d arguments in %s", marks, len(s.Args), s.SQL)
		}
	}
}

func TestFieldsOfKind(t *testing.T) {
	var got []string
	for _, f := range query.Fields(kindOf(t, "Deployment")) {
		got = append(got, strings.Join(f.Names(), " "))
	}
	want := []string{
		"metadata.namespace namespace", "metadata.name name", "metadata.uid uid",
		"metadata.creation_timestamp metadata.creationTimestamp create_time",
		"metadata.update_timestamp metadata.updateTimestamp update_time",
		"status.state state", "spec.definition.type target_definition_type",
		"status.current_revision.namespace status.currentRevision.namespace current_revision_namespace",
		"status.current_revision.name status.currentRevision.name current_revision_name",
		"metadata.deletion_timestamp metadata.deletionTimestamp deletion_requested_timestamp",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTokenResumesAfterRow(t *testing.T) {
	order := []storage.OrderBy{{Field: "owner", Dir: storage.SortDesc}, {Field: "revision_id"}}
	plan := compile(t, metav1.ListOptions{Limit: 2}, order...)
	n := int64(40)
	token, err := plan.Token([]any{nil, int64(-3), []byte("uid-1")}, &n)
	if err != nil {
		t.Fatal(err)
	}
	next := compile(t, metav1.ListOptions{Limit: 2, Continue: token}, order...)
	if got := next.Expected(); got == nil || *got != n {
		t.Errorf("expected %v rows to follow, want %d", got, n)
	}
	page := next.Page()
	const behind = "(FALSE OR (t.`owner` IS NULL AND t.`revision_id` > ?) OR (t.`owner` IS NULL AND t.`revision_id` = ? AND t.`uid` > ?))"
	if !strings.Contains(page.SQL, behind) {
		t.Errorf("SQL %s\ndoes not contain %s", page.SQL, behind)
	}
	if diff := cmp.Diff([]any{int64(-3), int64(-3), "uid-1", int64(3), int64(0)}, page.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
}

func FuzzContinueToken(f *testing.F) {
	for _, seed := range []string{"", "e30", "eyJ2IjoxfQ", "eyJ2IjoxLCJxIjoieCIsImEiOltudWxsXX0", "!"} {
		f.Add(seed)
	}
	kind := kindOf(f, "Model")
	f.Fuzz(func(t *testing.T, token string) {
		_, err := query.Compile(query.Request{Kind: kind, Options: &metav1.ListOptions{Continue: token}})
		if err != nil && !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("error %v, want ErrInvalid", err)
		}
	})
}

// sample returns a value for a parameter of a template.
func sample(f query.Field) any {
	switch f.Type {
	case registry.Enum:
		return 1
	case registry.Int:
		return 3
	case registry.Bool:
		return true
	case registry.Time:
		return "2026-11-21T04:42:00Z"
	default:
		return "x"
	}
}

func TestTemplatesCompileAndAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/storage.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range api.Kinds() {
		kind := kindOf(t, name)
		fields := map[string]query.Field{}
		for _, f := range query.Fields(kind) {
			fields[f.Names()[0]] = f
		}
		seen := map[string]bool{}
		for _, template := range query.Templates(kind) {
			if seen[template.ID] {
				t.Errorf("%s has the template %s twice", name, template.ID)
			}
			seen[template.ID] = true
			if !strings.Contains(string(page), "`"+template.Usage()+"`") || !strings.Contains(string(page), template.Description) {
				t.Errorf("docs/storage.md lacks `%s`: %s", template.Usage(), template.Description)
			}
			operation := &storage.CriterionOperation{}
			for _, condition := range template.Conditions {
				switch {
				case condition.Reference:
					for _, parameter := range []string{"namespace", "name"} {
						operation.Criteria = append(operation.Criteria, storage.Criterion{FieldName: parameter, Operator: storage.OpEqual, MatchValue: "x"})
					}
				case condition.Parameter != "":
					operation.Criteria = append(operation.Criteria, storage.Criterion{FieldName: condition.Parameter, Operator: storage.OpEqual, MatchValue: sample(fields[condition.Field])})
				}
			}
			ext, _, err := query.Expand(kind, template.ID, &storage.ListOptionsExt{Operation: operation})
			if err != nil {
				t.Errorf("%s %s: %v", name, template.ID, err)
				continue
			}
			if _, err := query.Compile(query.Request{Kind: kind, Ext: ext}); err != nil {
				t.Errorf("%s %s: %v", name, template.ID, err)
			}
		}
	}
}
