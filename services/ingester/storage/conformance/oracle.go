package conformance

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// oracleObject is the state of an object in the oracle: the values of its fields as text, int64, bool,
// time.Time or nil, and its labels.
type oracleObject struct {
	name   string
	fields map[string]any
	labels map[string]string
}

// request is a request that both storage and the oracle answer.
type request struct {
	namespace string
	labels    string
	fields    []fieldTerm
	operation *storage.CriterionOperation
	order     []storage.OrderBy
}

// fieldTerm is one requirement of a field selector.
type fieldTerm struct {
	field, value string
	not          bool
}

// evaluate computes the expected response: it checks every object.
func evaluate(objects []oracleObject, q request) ([]string, error) {
	selector, err := labels.Parse(q.labels)
	if err != nil {
		return nil, err
	}
	var chosen []oracleObject
	for _, f := range objects {
		if f.matches(q, selector) {
			chosen = append(chosen, f)
		}
	}
	order := q.order
	if len(order) == 0 {
		order = []storage.OrderBy{{Field: "metadata.creation_timestamp", Dir: storage.SortDesc}}
	}
	slices.SortFunc(chosen, func(a, b oracleObject) int { return compareObjects(a, b, order) })
	out := make([]string, 0, len(chosen))
	for _, f := range chosen {
		out = append(out, f.name)
	}
	return out, nil
}

func compareObjects(a, b oracleObject, order []storage.OrderBy) int {
	sign := 1
	for _, o := range order {
		sign = 1
		if o.Dir == storage.SortDesc {
			sign = -1
		}
		if c := compare(a.fields[o.Field], b.fields[o.Field]); c != 0 {
			return sign * c
		}
	}
	return sign * compare(a.fields["metadata.uid"], b.fields["metadata.uid"])
}

func (f oracleObject) matches(q request, selector labels.Selector) bool {
	if q.namespace != "" && f.fields["metadata.namespace"] != q.namespace || !selector.Matches(labels.Set(f.labels)) {
		return false
	}
	for _, term := range q.fields {
		v := f.fields[term.field]
		if v == nil {
			v = "" // as in Kubernetes
		}
		if (v == term.value) == term.not {
			return false
		}
	}
	return q.operation == nil || f.operation(*q.operation)
}

func (f oracleObject) operation(o storage.CriterionOperation) bool {
	var all []bool
	for _, c := range o.Criteria {
		all = append(all, f.criterion(c))
	}
	for _, sub := range o.SubOperations {
		all = append(all, f.operation(sub))
	}
	if o.LogicalOperator == storage.Or {
		return slices.Contains(all, true)
	}
	return !slices.Contains(all, false)
}

func (f oracleObject) criterion(c storage.Criterion) bool {
	v := f.fields[c.FieldName]
	switch c.Operator {
	case storage.OpIsNull:
		return v == nil
	case storage.OpIsNotNull:
		return v != nil
	case storage.OpEqual:
		return v == c.MatchValue
	case storage.OpNotEqual:
		return v != c.MatchValue
	case storage.OpIn, storage.OpNotIn:
		list, isList := c.MatchValue.([]any)
		return isList && slices.Contains(list, v) == (c.Operator == storage.OpIn)
	default: // they match no null
	}
	if v == nil {
		return false
	}
	if c.Operator == storage.OpLike {
		text, isText := v.(string)
		pattern, isPattern := c.MatchValue.(string)
		return isText && isPattern && likePattern(pattern).MatchString(text)
	}
	switch order := compare(v, c.MatchValue); c.Operator {
	case storage.OpGreaterThan:
		return order > 0
	case storage.OpGreaterThanOrEqual:
		return order >= 0
	case storage.OpLessThan:
		return order < 0
	default:
		return order <= 0
	}
}

// compare orders values of one field; absent ones come first. Trailing spaces of text do not
// count in an order, as the SQL standard has it.
func compare(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(presenceRank(a), presenceRank(b))
	}
	switch x := a.(type) {
	case string:
		y, _ := b.(string)
		return strings.Compare(strings.TrimRight(x, " "), strings.TrimRight(y, " "))
	case int64:
		y, _ := b.(int64)
		return cmp.Compare(x, y)
	case time.Time:
		y, _ := b.(time.Time)
		return x.Compare(y)
	default:
		return cmp.Compare(boolRank(a), boolRank(b))
	}
}

func presenceRank(v any) int { return boolRank(v != nil) }

func boolRank(v any) int {
	if v == true {
		return 1
	}
	return 0
}

// likePattern converts a pattern of LIKE to a regular expression.
func likePattern(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	escaped := false
	for _, r := range pattern {
		switch {
		case !escaped && r == '\\':
			escaped = true
			continue
		case !escaped && r == '%':
			b.WriteString(".*")
		case !escaped && r == '_':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		escaped = false
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}
