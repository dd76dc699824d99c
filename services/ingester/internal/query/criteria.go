package query

import (
	"reflect"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// tree reads a criteria tree and counts what it holds.
type tree struct {
	kind             *registry.Kind
	criteria, values int
}

// parseCriteria turns a criteria tree into one condition; none at all is nil.
//
// Logic has two values: a comparison with a value that is absent is false, so NOT_EQUAL and
// NOT_IN, the opposites of EQUAL and IN, are true there.
func parseCriteria(kind *registry.Kind, root *storage.CriterionOperation) ([]clause, error) {
	if root == nil || len(root.Criteria)+len(root.SubOperations) == 0 && root.LogicalOperator == storage.And {
		return nil, nil
	}
	c, err := (&tree{kind: kind}).operation(root, 1)
	if err != nil {
		return nil, err
	}
	return []clause{c}, nil
}

func (t *tree) operation(o *storage.CriterionOperation, depth int) (clause, error) {
	operator, ok := map[storage.LogicalOperator]string{storage.And: " AND ", storage.Or: " OR "}[o.LogicalOperator]
	switch {
	case !ok:
		return clause{}, invalid("criteria: logical operator %d is unknown", o.LogicalOperator)
	case depth > maxDepth:
		return clause{}, invalid("criteria are nested deeper than %d levels", maxDepth)
	case len(o.Criteria)+len(o.SubOperations) == 0:
		return clause{}, invalid("criteria: an operation holds neither criteria nor operations")
	}
	var parts []clause
	for i := range o.Criteria {
		if t.criteria++; t.criteria > maxRequirements {
			return clause{}, invalid("more than %d criteria", maxRequirements)
		}
		c, err := t.criterion(&o.Criteria[i])
		if err != nil {
			return clause{}, err
		}
		parts = append(parts, c)
	}
	for i := range o.SubOperations {
		c, err := t.operation(&o.SubOperations[i], depth+1)
		if err != nil {
			return clause{}, err
		}
		parts = append(parts, c)
	}
	return join(operator, parts), nil
}

// comparisons are the operators that need an order of values.
var comparisons = map[storage.CriterionOperator]string{
	storage.OpGreaterThan: " > ?", storage.OpGreaterThanOrEqual: " >= ?",
	storage.OpLessThan: " < ?", storage.OpLessThanOrEqual: " <= ?",
}

func (t *tree) criterion(c *storage.Criterion) (clause, error) {
	f, err := find(t.kind, c.FieldName)
	if err != nil {
		return clause{}, err
	}
	switch c.Operator {
	case storage.OpEqual, storage.OpNotEqual:
		v, err := f.Value(c.MatchValue)
		if err != nil {
			return clause{}, err
		}
		return f.among([]any{v}, c.Operator == storage.OpNotEqual), nil
	case storage.OpIn, storage.OpNotIn:
		values, err := t.list(f, c.MatchValue)
		if err != nil {
			return clause{}, err
		}
		return f.among(values, c.Operator == storage.OpNotIn), nil
	case storage.OpGreaterThan, storage.OpGreaterThanOrEqual, storage.OpLessThan, storage.OpLessThanOrEqual:
		return f.compare(comparisons[c.Operator], c.MatchValue)
	case storage.OpLike:
		return f.like(c.MatchValue)
	case storage.OpIsNull, storage.OpIsNotNull:
		if c.MatchValue != nil {
			return clause{}, invalid("criterion on %q: IS_NULL and IS_NOT_NULL take no value", c.FieldName)
		}
		if null := f.isNull(); c.Operator == storage.OpIsNotNull {
			return clause{"NOT (" + null.sql + ")", nil}, nil
		}
		return f.isNull(), nil
	default:
		return clause{}, invalid("criterion on %q: operator %d is unknown", c.FieldName, c.Operator)
	}
}

func (f *Field) among(values []any, opposite bool) clause {
	if opposite {
		return f.notEqual(values)
	}
	return f.equal(values)
}

// list reads the values of IN and NOT_IN.
func (t *tree) list(f *Field, v any) ([]any, error) {
	r := reflect.ValueOf(v)
	if k := r.Kind(); k != reflect.Slice && k != reflect.Array {
		return nil, invalid("criterion on %q: IN and NOT_IN want a list of values", f.names[0])
	}
	if r.Len() == 0 {
		return nil, invalid("criterion on %q: the list of values is empty", f.names[0])
	}
	if t.values += r.Len(); t.values > maxValues {
		return nil, invalid("criteria have more than %d values", maxValues)
	}
	out := make([]any, 0, r.Len())
	for i := range r.Len() {
		value, err := f.Value(r.Index(i).Interface())
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

func (f *Field) compare(operator string, v any) (clause, error) {
	if f.Type == registry.Enum || f.Type == registry.Bool {
		return clause{}, invalid("criterion on %q: its values have no order to compare by", f.names[0])
	}
	value, err := f.Value(v)
	if err != nil {
		return clause{}, err
	}
	return f.known(clause{f.sql(main) + operator, []any{value}}), nil
}

// like matches a pattern: % stands for any text, _ for one character, \ takes the meaning from the next one.
func (f *Field) like(v any) (clause, error) {
	if f.Type != registry.Text && f.Type != registry.Enum {
		return clause{}, invalid("criterion on %q: LIKE wants a field of text", f.names[0])
	}
	p, reason := readText(v)
	if reason != "" {
		return clause{}, invalid("criterion on %q: %s", f.names[0], reason)
	}
	if backslashes := len(p) - len(strings.TrimRight(p, `\`)); backslashes%2 == 1 {
		return clause{}, invalid("criterion on %q: the pattern ends in a single backslash", f.names[0])
	}
	return f.known(clause{f.sql(main) + " LIKE ?", []any{p}}), nil
}
