package query

import (
	"math"
	"slices"
	"sort"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Bounds of one request, which limit its cost. They are far above those of real requests.
const (
	maxRequirements = 100  // of a label or field selector, and criteria of a tree
	maxValues       = 1000 // of all conditions together
	maxDepth        = 8    // of a criteria tree
	maxOrder        = 8    // fields to sort by
)

// label is one requirement of a label selector: an object has, or does not have, a label row of
// the key that meets the condition.
type label struct {
	key    string
	values []string // sorted; none means any
	bound  *bound
	absent bool
}

// bound compares the label's value as an integer.
type bound struct {
	operator string // ">" or "<"
	value    int64
}

// parseLabels reads a label selector as Kubernetes does, with its semantics: notin and !=
// select objects without the key as well.
func parseLabels(text string) ([]label, error) {
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, invalid("label selector %q: %s", clip(text), clip(err.Error()))
	}
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil, invalid("label selector %q matches nothing", clip(text))
	}
	if len(requirements) > maxRequirements {
		return nil, invalid("label selector has %d requirements, more than %d", len(requirements), maxRequirements)
	}
	out := make([]label, 0, len(requirements))
	values := 0
	for _, r := range requirements {
		l, err := newLabel(r)
		if err != nil {
			return nil, err
		}
		values += len(l.values)
		out = merge(out, l)
	}
	if values > maxValues {
		return nil, invalid("label selector has %d values, more than %d", values, maxValues)
	}
	return out, nil
}

// merge adds a requirement, of which each costs a probe and a condition. A repeated one is dropped, and of several bounds of a key
// the tightest is kept.
func merge(all []label, l label) []label {
	for i, other := range all {
		switch {
		case other.equal(l):
			return all
		case other.key != l.key || other.bound == nil || l.bound == nil || other.bound.operator != l.bound.operator:
			continue
		case l.bound.operator == ">":
			all[i].bound.value = max(other.bound.value, l.bound.value)
		default:
			all[i].bound.value = min(other.bound.value, l.bound.value)
		}
		return all
	}
	return append(all, l)
}

func (l label) equal(other label) bool {
	return l.key == other.key && l.absent == other.absent && l.bound == nil && other.bound == nil &&
		slices.Equal(l.values, other.values)
}

func newLabel(r labels.Requirement) (label, error) {
	l := label{key: r.Key()}
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		l.values = sorted(r.ValuesUnsorted())
	case selection.NotIn, selection.NotEquals:
		l.values, l.absent = sorted(r.ValuesUnsorted()), true
	case selection.Exists:
	case selection.DoesNotExist:
		l.absent = true
	case selection.GreaterThan, selection.LessThan:
		n, err := strconv.ParseInt(r.ValuesUnsorted()[0], 10, 64)
		if err != nil {
			return l, invalid("label selector: %q of label %q is not an integer", clip(r.ValuesUnsorted()[0]), r.Key())
		}
		l.bound = &bound{operator: map[selection.Operator]string{selection.GreaterThan: ">", selection.LessThan: "<"}[r.Operator()], value: n}
	default:
		return l, invalid("label selector: unknown operator %q", r.Operator())
	}
	return l, nil
}

func sorted(values []string) []string {
	out := append([]string{}, values...)
	sort.Strings(out)
	return out
}

// condition returns the condition for the label row of an alias.
func (l label) condition(alias string) clause {
	c := clause{alias + ".`key` = ?", []any{l.key}}
	value := alias + ".value"
	switch {
	case l.bound != nil:
		decimal := "CAST(IF(" + value + " REGEXP '^[0-9]+$', " + value + ", '-1') AS DECIMAL(65, 0))"
		c.sql += " AND " + decimal + " >= 0 AND " + decimal + " <= ? AND " + decimal + " " + l.bound.operator + " ?"
		c.args = append(c.args, int64(math.MaxInt64), l.bound.value)
	case len(l.values) == 1:
		c.sql += " AND " + value + " = ?"
		c.args = append(c.args, l.values[0])
	case len(l.values) > 1:
		c.sql += " AND " + value + " IN (" + marks(len(l.values)) + ")"
		for _, v := range l.values {
			c.args = append(c.args, v)
		}
	}
	return c
}

// exists returns the condition that the object of a uid has the label. The index is forced:
// MariaDB would read all rows of the label for each object.
func (l label) exists(table, uid string) clause {
	c := l.condition("l")
	sql := "EXISTS (SELECT 1 FROM " + table + " l FORCE INDEX (idx_obj_uid_key) WHERE l.obj_uid = " + uid + " AND " + c.sql + ")"
	if l.absent {
		sql = "NOT " + sql
	}
	return clause{sql, c.args}
}

// parseFields reads a field selector. As in Kubernetes a field that an object does not have
// is the empty text: "x!=1" selects it, and so does "x=".
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
			c, err = field.excluded(r.Value)
		default:
			err = invalid("field selector: unknown operator %q", r.Operator)
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

func (f *Field) excluded(value string) (clause, error) {
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
