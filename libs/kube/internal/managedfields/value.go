package managedfields

import (
	"reflect"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// UpToDate reports whether applying the desired value would change nothing: set contains
// each part of it, and live has the same value. All values are JSON values as
// encoding/json decodes them, with int64 for whole numbers.
func UpToDate(set *fieldpath.Set, desired, live any) bool {
	switch w := desired.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range w {
			lv, ok := l[k]
			if !ok || !partUpToDate(set, fieldpath.FieldNameElement(k), v, lv) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		return ok && itemsUpToDate(set, w, l)
	}
	return reflect.DeepEqual(desired, live)
}

// partUpToDate compares one field or item. It descends into a part with owned parts of
// its own; a part that is owned as a whole must be equal as a whole.
func partUpToDate(set *fieldpath.Set, pe fieldpath.PathElement, desired, live any) bool {
	if child, ok := set.Children.Get(pe); ok {
		return UpToDate(child, desired, live)
	}
	return set.Members.Has(pe) && reflect.DeepEqual(desired, live)
}

// itemsUpToDate compares a list whose items are owned one by one: matched by key or by value.
func itemsUpToDate(set *fieldpath.Set, desired, live []any) bool {
	elements := Elements(set)
	for _, item := range desired {
		pe, ok := elementOf(elements, item)
		if !ok {
			return false
		}
		other, ok := step(live, pe)
		if !ok || !partUpToDate(set, pe, item, other) {
			return false
		}
	}
	return true
}

// Surplus lists the owned fields that v does not have: applying v would remove them.
func Surplus(set *fieldpath.Set, v any) []fieldpath.Path {
	var out []fieldpath.Path
	for path := range set.Leaves().All() {
		if !has(v, path) {
			out = append(out, path.Copy())
		}
	}
	return out
}

func has(v any, path fieldpath.Path) bool {
	for _, pe := range path {
		next, ok := step(v, pe)
		if !ok {
			return false
		}
		v = next
	}
	return true
}

// Elements lists the path elements directly under a set.
func Elements(set *fieldpath.Set) []fieldpath.PathElement {
	var out []fieldpath.PathElement
	set.Members.Iterate(func(pe fieldpath.PathElement) { out = append(out, pe) })
	set.Children.Iterate(func(pe fieldpath.PathElement) { out = append(out, pe) })
	return out
}

func elementOf(elements []fieldpath.PathElement, item any) (fieldpath.PathElement, bool) {
	for _, pe := range elements {
		if matches(pe, item) {
			return pe, true
		}
	}
	return fieldpath.PathElement{}, false
}

func step(v any, pe fieldpath.PathElement) (any, bool) {
	switch {
	case pe.FieldName != nil:
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		next, ok := m[*pe.FieldName]
		return next, ok
	case pe.Index != nil:
		l, ok := v.([]any)
		if !ok || *pe.Index >= len(l) {
			return nil, false
		}
		return l[*pe.Index], true
	}
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	for _, item := range list {
		if matches(pe, item) {
			return item, true
		}
	}
	return nil, false
}

// matches reports whether pe identifies the list item, by its key fields or by its value.
func matches(pe fieldpath.PathElement, item any) bool {
	if pe.Value != nil {
		return value.Equals(*pe.Value, value.NewValueInterface(item))
	}
	if pe.Key == nil {
		return false
	}
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	for _, f := range *pe.Key {
		v, ok := m[f.Name]
		if !ok && f.Name == "protocol" {
			v, ok = "TCP", true // the only key field that the API server defaults
		}
		if !ok || !value.Equals(f.Value, value.NewValueInterface(v)) {
			return false
		}
	}
	return true
}
