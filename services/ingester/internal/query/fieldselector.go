package query

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// parseFields reads a field selector. As in Kubernetes a field that an object does not have
// is the empty text: "x!=1" chooses it, and so does "x=".
func parseFields(kind *registry.Kind, text string) ([]clause, error) {
	selector, err := fields.ParseSelector(text)
	if err != nil {
		return nil, invalid("field selector %q: %s", clip(text), clip(err.Error()))
	}
	requirements := selector.Requirements()
	if len(requirements) > maxRequirements {
		return nil, invalid("field selector has %d requirements, more than %d", len(requirements), maxRequirements)
	}
	out := make([]clause, 0, len(requirements))
	for _, r := range requirements {
		field, err := find(kind, r.Field)
		if err != nil {
			return nil, err
		}
		var c clause
		switch r.Operator {
		case selection.Equals, selection.DoubleEquals:
			c, err = field.selected(r.Value)
		case selection.NotEquals:
			c, err = field.deselected(r.Value)
		default:
			err = invalid("field selector: operator %q is unknown", r.Operator)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func (f *Field) selected(value string) (clause, error) {
	if value == "" && f.Type != registry.Text {
		return f.isNull(), nil
	}
	v, err := f.Value(value)
	if err != nil {
		return clause{}, err
	}
	if value == "" && f.Nullable {
		return join(" OR ", []clause{f.isNull(), f.equal([]any{v})}), nil
	}
	return f.equal([]any{v}), nil
}

func (f *Field) deselected(value string) (clause, error) {
	if value == "" && f.Type != registry.Text {
		c := f.isNull()
		return clause{"NOT " + c.sql, c.args}, nil
	}
	v, err := f.Value(value)
	if err != nil {
		return clause{}, err
	}
	if value == "" {
		return f.known(f.notEqual([]any{v})), nil
	}
	return f.notEqual([]any{v}), nil
}
