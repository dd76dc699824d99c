package conformance

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

const (
	randomObjects   = 120
	requestsPerKind = 120
	firstSeed       = 20261121
	criteriaBudget  = 4
)

// randomRequests compares answers with the oracle's.
func randomRequests(t *testing.T, open Open) {
	t.Helper()
	for i, kind := range []string{"Model", "PipelineRun", "TriggerRun"} {
		t.Run(kind, func(t *testing.T) {
			s := open(t)
			g := &generator{kind: kind, rand: rand.New(rand.NewPCG(firstSeed, uint64(i)))} //nolint:gosec // not a secret, and the same each time
			objects := g.objects(t, s)
			for range requestsPerKind {
				g.checkRequest(t, s, objects)
			}
		})
	}
}

type generator struct {
	kind string
	rand *rand.Rand
}

func pick[T any](g *generator, from ...T) T { return from[g.rand.IntN(len(from))] }

// texts have special cases: spaces at the end, case, wildcards, other scripts.
var texts = []string{"", "a", "A", "a ", "ab", "a%", "a_b", `a\b`, "Ä", "ä", "日本", "z'z", `z"z`}

// times are near each other, or near the bounds of what is stored. The driver stores the zero time as '0000-00-00'.
var times = []time.Time{
	minute, minute.Add(500 * time.Microsecond), minute.Add(time.Millisecond),
	{},
	time.Time{}.Add(time.Nanosecond), time.Time{}.Add(time.Microsecond),
	time.Date(1000, 1, 1, 0, 0, 0, -1000, time.UTC), time.Date(1000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, -1, time.UTC),
}

var (
	teams   = []string{"growth", "fraud", "ops", ""}
	numbers = []string{"1", "9", "10", "big", "99999999999999999999"}
)

func (g *generator) objects(t *testing.T, s storage.IngesterStorage) []oracleObject {
	t.Helper()
	var out []oracleObject
	for i := range randomObjects {
		namespace, name := pick(g, "one", "two", "three"), fmt.Sprintf("o-%03d", g.rand.IntN(1000)*1000+i)
		o := object(g.kind, namespace, name, g.rand.IntN(20), nil)
		o.SetUID(uid(strconv.Itoa(g.rand.IntN(100)), name))
		f := oracleObject{name: name, labels: g.labels(), fields: map[string]any{
			"metadata.namespace": namespace, "metadata.name": name, "metadata.uid": string(o.GetUID()),
			"metadata.creation_timestamp": o.GetCreationTimestamp().UTC(),
		}}
		o.SetLabels(f.labels)
		g.content(o, f.fields)
		upsert(t, s, o)
		o.SetResourceVersion("2")
		switch i % 8 {
		case 0: // closed: not in any response
			if err := s.Finish(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			continue
		case 1: // evicted: live like all others
			if err := s.Evict(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		out = append(out, f)
	}
	return out
}

func (g *generator) labels() map[string]string {
	out := map[string]string{}
	for _, label := range []struct {
		key    string
		values []string
	}{{"team", teams}, {"size", numbers}, {"michelangelo/tier", []string{"gold", "silver"}}} {
		if g.rand.IntN(3) > 0 {
			out[label.key] = pick(g, label.values...)
		}
	}
	return out
}

// content sets fields of the object at random, and records them for the oracle.
func (g *generator) content(o *unstructured.Unstructured, objects map[string]any) {
	spec, status := map[string]any{}, map[string]any{}
	switch g.kind {
	case "Model":
		objects["spec.algorithm"] = g.text(spec, "algorithm")
		objects["spec.owner.name"] = g.nested(spec, "owner")
		objects["spec.kind"] = "MODEL_KIND_INVALID"
		if g.rand.IntN(2) == 0 {
			spec["kind"] = pick(g, "MODEL_KIND_CUSTOM", "MODEL_KIND_CLUSTERING")
			objects["spec.kind"] = spec["kind"]
		}
		objects["spec.revision_id"] = int64(0)
		if g.rand.IntN(2) == 0 {
			spec["revisionId"] = g.rand.Int64N(7) - 3
			objects["spec.revision_id"] = spec["revisionId"]
		}
	case "PipelineRun":
		objects["spec.pipeline.name"] = g.nested(spec, "pipeline")
		objects["status.end_time"] = nil
		if g.rand.IntN(2) == 0 {
			end := pick(g, times...)
			status["endTime"], objects["status.end_time"] = end.Format(time.RFC3339Nano), end.Truncate(time.Microsecond)
		}
	default:
		objects["spec.pipeline.name"] = g.nested(spec, "pipeline")
		objects["spec.auto_flip"] = false
		if g.rand.IntN(2) == 0 {
			spec["autoFlip"], objects["spec.auto_flip"] = true, true
		}
	}
	o.Object["spec"], o.Object["status"] = spec, status
}

func (g *generator) text(in map[string]any, key string) any {
	value := pick(g, texts...)
	if value != "" || g.rand.IntN(2) == 0 {
		in[key] = value
	}
	return value
}

// nested sets the name of a message; without the message there is no value.
func (g *generator) nested(in map[string]any, key string) any {
	if g.rand.IntN(3) == 0 {
		return nil
	}
	message := map[string]any{}
	in[key] = message
	return g.text(message, "name")
}

// checkRequest sends one random request, in pages of random size, and compares the responses.
func (g *generator) checkRequest(t *testing.T, s storage.IngesterStorage, objects []oracleObject) {
	t.Helper()
	q := g.request(objects)
	want, err := evaluate(objects, q)
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	for _, f := range q.fields {
		operator := "="
		if f.not {
			operator = "!="
		}
		terms = append(terms, f.field+operator+fields.EscapeValue(f.value))
	}
	o := metav1.ListOptions{LabelSelector: q.labels, FieldSelector: strings.Join(terms, ","), Limit: pick[int64](g, 0, 5, 17, 60)}
	ext := &storage.ListOptionsExt{Operation: q.operation, OrderBy: q.order}
	got := []string{}
	for {
		var response storage.ListResponse
		if err := s.List(t.Context(), typeOf(g.kind), q.namespace, &o, ext, &response); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		got = append(got, names(t, response.Items)...)
		if n := response.RemainingItemCount; n != nil && *n != int64(len(want)-len(got)) {
			t.Errorf("%+v: %d remain, want %d", q, *n, len(want)-len(got))
		}
		if o.Continue = response.Continue; o.Continue == "" || len(got) > len(objects) {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%+v, selector %q, limit %d (-want +got):\n%s", q, o.FieldSelector, o.Limit, diff)
	}
}

func (g *generator) request(objects []oracleObject) request {
	known := make([]string, 0, len(objects[0].fields))
	for name := range objects[0].fields {
		known = append(known, name)
	}
	slices.Sort(known)
	q := request{namespace: pick(g, "", "", "one", "nowhere")}
	var terms []string
	for range g.rand.IntN(3) {
		terms = append(terms, g.requirement())
	}
	q.labels = strings.Join(terms, ",")
	for range g.rand.IntN(2) {
		field := pick(g, known...)
		if value, isText := pick(g, objects...).fields[field].(string); isText {
			q.fields = append(q.fields, fieldTerm{field: field, value: value, not: g.rand.IntN(2) == 0})
		}
	}
	if g.rand.IntN(2) == 0 {
		q.operation = g.operation(objects, known, criteriaBudget)
	}
	g.rand.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	for _, field := range known[:g.rand.IntN(4)] {
		q.order = append(q.order, storage.OrderBy{Field: field, Dir: pick(g, storage.SortInvalid, storage.SortAsc, storage.SortDesc)})
	}
	return q
}

func (g *generator) requirement() string {
	return pick(g,
		"team="+pick(g, teams...), "team=="+pick(g, teams...), "team!="+pick(g, teams...),
		"team in ("+pick(g, teams...)+","+pick(g, teams...)+")", "team notin ("+pick(g, teams...)+",x)",
		"michelangelo/tier", "!michelangelo/tier", "absent", "!absent", "size>"+pick(g, "0", "9", "007"), "size<"+pick(g, "10", "2"),
	)
}

func (g *generator) operation(objects []oracleObject, known []string, budget int) *storage.CriterionOperation {
	o := &storage.CriterionOperation{LogicalOperator: pick(g, storage.And, storage.Or)}
	for range 1 + g.rand.IntN(2) {
		o.Criteria = append(o.Criteria, g.criterion(objects, pick(g, known...)))
	}
	if budget > 1 && g.rand.IntN(2) == 0 {
		o.SubOperations = append(o.SubOperations, *g.operation(objects, known, budget/2))
	}
	return o
}

// criterion compares with values that objects have, and uses only operators that the type has.
func (g *generator) criterion(objects []oracleObject, field string) storage.Criterion {
	v := pick(g, objects...).fields[field]
	c := storage.Criterion{FieldName: field, Operator: pick(g, storage.OpIsNull, storage.OpIsNotNull)}
	if v == nil {
		return c
	}
	operators := []storage.CriterionOperator{c.Operator, storage.OpEqual, storage.OpNotEqual, storage.OpIn, storage.OpNotIn}
	if text, isText := v.(string); isText {
		operators = append(operators, storage.OpLike)
		if g.rand.IntN(2) == 0 && text != "" {
			v = pick(g, "%", "a%", "_", `%\_%`, `%\\%`, "%b", text)
			if strings.HasSuffix(text, `\`) || v == text {
				v = "%"
			}
			c.Operator, c.MatchValue = storage.OpLike, v
			return c
		}
	}
	if _, isBool := v.(bool); !isBool && field != "spec.kind" {
		operators = append(operators, storage.OpGreaterThan, storage.OpGreaterThanOrEqual, storage.OpLessThan, storage.OpLessThanOrEqual)
	}
	c.Operator, c.MatchValue = pick(g, operators...), v
	switch c.Operator {
	case storage.OpIsNull, storage.OpIsNotNull:
		c.MatchValue = nil
	case storage.OpIn, storage.OpNotIn:
		list := []any{v}
		if other := pick(g, objects...).fields[field]; other != nil {
			list = append(list, other)
		}
		c.MatchValue = list
	case storage.OpLike:
		c.MatchValue = "%"
	default: // they compare with v
	}
	return c
}
