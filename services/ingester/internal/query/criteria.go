package query

import (
	"reflect"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// tree reads a criteria tree and counts its criteria and values.
type tree struct {
	kind             *registry.Kind
	criteria, values int
}

// parseCriteria compiles a criteria tree to one condition; an empty tree has none.
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
		return clause{}, invalid("criteria: unknown logical operator %d", o.LogicalOperator)
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
		return f.oneOf([]any{v}, c.Operator == storage.OpNotEqual), nil
	case storage.OpIn, storage.OpNotIn:
		values, err := t.list(f, c.MatchValue)
		if err != nil {
			return clause{}, err
		}
		return f.oneOf(values, c.Operator == storage.OpNotIn), nil
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
		return clause{}, invalid("criterion on %q: unknown operator %d", c.FieldName, c.Operator)
	}
}

func (f *Field) oneOf(values []any, negate bool) clause {
	if negate {
		return f.notEqual(values)
	}
	return f.equal(values)
}

// list reads the values of IN and NOT_IN.
func (t *tree) list(f *Field, v any) ([]any, error) {
	r := reflect.ValueOf(v)
	if k := r.Kind(); k != reflect.Slice && k != reflect.Array {
		return nil, invalid("criterion on %q: IN and NOT_IN require a list of values", f.names[0])
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

// like returns the condition for a pattern: % is any text, _ is one character, \ escapes the next one.
func (f *Field) like(v any) (clause, error) {
	if f.Type != registry.Text && f.Type != registry.Enum {
		return clause{}, invalid("criterion on %q: LIKE requires a text field", f.names[0])
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

// text builds SQL text with its arguments, in the order of the placeholders.
type text struct {
	b    strings.Builder
	args []any
}

func (t *text) add(sql string, args ...any) *text {
	t.b.WriteString(sql)
	t.args = append(t.args, args...)
	return t
}

func (t *text) addClause(c clause) *text { return t.add(c.sql, c.args...) }

// clause is one condition. It is never NULL: a comparison with an absent value is false,
// and its opposite is true.
type clause struct {
	sql  string
	args []any
}

// join joins conditions in parentheses.
func join(operator string, clauses []clause) clause {
	if len(clauses) == 1 {
		return clauses[0]
	}
	parts := make([]string, 0, len(clauses))
	var args []any
	for _, c := range clauses {
		parts = append(parts, c.sql)
		args = append(args, c.args...)
	}
	return clause{"(" + strings.Join(parts, operator) + ")", args}
}

// marks returns "?, ?, ?".
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }

// main is the alias of the main table in all conditions.
const main = "t"

// isNull returns the condition that the object has no value.
func (f *Field) isNull() clause {
	if !f.Nullable {
		return clause{"FALSE", nil}
	}
	return clause{f.sql(main) + " IS NULL", nil}
}

// equal returns the condition that the column has one of the values.
//
// The collation of text columns ignores trailing spaces, so text is compared as bytes as well; the
// first comparison is for the index.
func (f *Field) equal(values []any) clause {
	column := f.sql(main)
	in := " = ?"
	if len(values) > 1 {
		in = " IN (" + marks(len(values)) + ")"
	}
	if f.Type != registry.Text {
		return f.known(clause{column + in, values})
	}
	return f.known(clause{
		"(" + column + in + " AND CAST(" + column + " AS BINARY)" + in + ")",
		append(append([]any{}, values...), values...),
	})
}

// notEqual returns the negation of equal; it is true for an absent value.
func (f *Field) notEqual(values []any) clause {
	column := f.sql(main)
	in := " <> ?"
	if len(values) > 1 {
		in = " NOT IN (" + marks(len(values)) + ")"
	}
	if f.Type == registry.Text {
		column = "CAST(" + column + " AS BINARY)"
	}
	if !f.Nullable {
		return clause{column + in, values}
	}
	return clause{"(" + f.sql(main) + " IS NULL OR " + column + in + ")", values}
}

// known makes a comparison with an absent value false, not NULL.
func (f *Field) known(c clause) clause {
	if !f.Nullable {
		return c
	}
	return clause{"(" + f.sql(main) + " IS NOT NULL AND " + c.sql + ")", c.args}
}
