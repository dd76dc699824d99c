package query

import (
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// text is SQL text with its arguments, in the order of the placeholders.
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

// join connects conditions and puts them in brackets.
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

// isNull is true where the object has no value.
func (f *Field) isNull() clause {
	if !f.Nullable {
		return clause{"FALSE", nil}
	}
	return clause{f.sql(main) + " IS NULL", nil}
}

// equal is true where the column has one of the values.
//
// The collation of text columns does not see trailing spaces, so text is compared as
// bytes as well; the first comparison is there for the index.
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

// notEqual is the opposite of equal: it is true where there is no value.
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

// known makes a comparison with a missing value false, not NULL.
func (f *Field) known(c clause) clause {
	if !f.Nullable {
		return c
	}
	return clause{"(" + f.sql(main) + " IS NOT NULL AND " + c.sql + ")", c.args}
}
