package query

import (
	"fmt"
	"strings"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Template is a predefined request for objects of a kind.
type Template struct {
	ID          string
	Kind        string // "" means every kind
	Description string
	// Conditions are joined by AND.
	Conditions []Condition
	Order      []storage.OrderBy
	// Limit is the maximum number of objects; 0 leaves the limit to the caller.
	Limit int32
}

// Condition is one condition of a template.
type Condition struct {
	// Parameter is the name of the parameter for the value; "" means that Value is fixed.
	Parameter string
	Optional  bool
	Field     string // as in a criterion; for a reference, the path of the ResourceIdentifier
	Operator  storage.CriterionOperator
	Value     any
	// Reference selects objects that refer to the object whose namespace and name are given
	// by the parameters "namespace" and "name". A reference without a namespace means the
	// namespace of the referring object.
	Reference bool
}

// Parameters of a reference.
const (
	namespaceParameter = "namespace"
	nameParameter      = "name"
)

// Parameter is one parameter of a template.
type Parameter struct {
	Name     string
	Optional bool
}

// Parameters lists the parameters of the template, in the order of its conditions.
func (t *Template) Parameters() []Parameter {
	var out []Parameter
	for _, c := range t.Conditions {
		switch {
		case c.Reference:
			out = append(out, Parameter{Name: namespaceParameter}, Parameter{Name: nameParameter})
		case c.Parameter != "":
			out = append(out, Parameter{Name: c.Parameter, Optional: c.Optional})
		}
	}
	return out
}

// Templates lists the templates of a kind.
func Templates(kind *registry.Kind) []Template {
	var out []Template
	for _, t := range templates {
		if t.Kind == "" || t.Kind == kind.Name {
			out = append(out, t)
		}
	}
	return out
}

// Expand builds a request from a template. The operation of ext holds the parameters:
// criteria named by parameter, with EQUAL and without nesting. Pagination and skip list of
// ext are kept. Limited reports whether the template has a limit of its own: its page is the
// whole answer. Errors: storage.ErrInvalid, listing the supported values.
func Expand(kind *registry.Kind, id string, ext *storage.ListOptionsExt) (expanded *storage.ListOptionsExt, limited bool, err error) {
	if ext == nil {
		ext = &storage.ListOptionsExt{}
	}
	t, err := findTemplate(kind, id)
	if err != nil {
		return nil, false, err
	}
	if len(ext.OrderBy) > 0 {
		return nil, false, invalid("template %q has an order of its own", id)
	}
	args, err := t.read(ext.Operation)
	if err != nil {
		return nil, false, err
	}
	out := *ext
	out.OrderBy = t.Order
	out.Operation, err = t.operation(args)
	if t.Limit > 0 {
		page := storage.Pagination{Limit: t.Limit}
		if ext.Pagination != nil {
			page = *ext.Pagination
			if page.Limit == 0 || page.Limit > t.Limit {
				page.Limit = t.Limit
			}
		}
		out.Pagination = &page
	}
	return &out, t.Limit > 0, err
}

func findTemplate(kind *registry.Kind, id string) (*Template, error) {
	all := Templates(kind)
	names := make([]string, 0, len(all))
	for i := range all {
		if all[i].ID == id {
			return &all[i], nil
		}
		names = append(names, all[i].Usage())
	}
	return nil, invalid("unknown template %q of kind %s, want one of %s", clip(id), kind.Name, strings.Join(names, ", "))
}

// Usage returns the template with its parameters: "runs-by-state(state, [namespace])".
func (t *Template) Usage() string {
	var names []string
	for _, p := range t.Parameters() {
		name := p.Name
		if p.Optional {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return fmt.Sprintf("%s(%s)", t.ID, strings.Join(names, ", "))
}

// read extracts the parameters of an operation and validates them.
func (t *Template) read(o *storage.CriterionOperation) (map[string]any, error) {
	args := map[string]any{}
	if o != nil {
		if o.LogicalOperator != storage.And || len(o.SubOperations) > 0 {
			return nil, invalid("template %s: parameters are criteria without nesting, joined by AND", t.Usage())
		}
		for _, c := range o.Criteria {
			if c.Operator != storage.OpEqual {
				return nil, invalid("template %s: parameter %q requires operator EQUAL", t.Usage(), clip(c.FieldName))
			}
			if _, duplicate := args[c.FieldName]; duplicate {
				return nil, invalid("template %s: parameter %q is given twice", t.Usage(), clip(c.FieldName))
			}
			args[c.FieldName] = c.MatchValue
		}
	}
	known := map[string]bool{}
	for _, p := range t.Parameters() {
		known[p.Name] = true
		if _, ok := args[p.Name]; !ok && !p.Optional {
			return nil, invalid("template %s: parameter %q is required", t.Usage(), p.Name)
		}
	}
	for name := range args {
		if !known[name] {
			return nil, invalid("template %s: unknown parameter %q", t.Usage(), clip(name))
		}
	}
	return args, nil
}

func (t *Template) operation(args map[string]any) (*storage.CriterionOperation, error) {
	out := &storage.CriterionOperation{}
	for _, c := range t.Conditions {
		if c.Reference {
			o, err := c.reference(args)
			if err != nil {
				return nil, err
			}
			out.SubOperations = append(out.SubOperations, o)
			continue
		}
		value := c.Value
		if c.Parameter != "" {
			v, ok := args[c.Parameter]
			if !ok {
				continue
			}
			value = v
		}
		out.Criteria = append(out.Criteria, storage.Criterion{FieldName: c.Field, Operator: c.Operator, MatchValue: value})
	}
	return out, nil
}

// reference matches the name, and the namespace either in the reference or, if the reference
// has none, of the object itself.
func (c *Condition) reference(args map[string]any) (storage.CriterionOperation, error) {
	for _, name := range []string{namespaceParameter, nameParameter} {
		if s, reason := readText(args[name]); reason != "" || s == "" {
			return storage.CriterionOperation{}, invalid("parameter %q must be a %s", name, name)
		}
	}
	equal := func(field string, v any) storage.Criterion {
		return storage.Criterion{FieldName: field, Operator: storage.OpEqual, MatchValue: v}
	}
	namespace := c.Field + ".namespace"
	return storage.CriterionOperation{
		Criteria: []storage.Criterion{equal(c.Field+".name", args[nameParameter])},
		SubOperations: []storage.CriterionOperation{{
			LogicalOperator: storage.Or,
			Criteria:        []storage.Criterion{equal(namespace, args[namespaceParameter])},
			SubOperations: []storage.CriterionOperation{{Criteria: []storage.Criterion{
				equal(namespace, ""), equal("metadata.namespace", args[namespaceParameter]),
			}}},
		}},
	}, nil
}
