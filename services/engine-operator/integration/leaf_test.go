package integration

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
)

// through encodes a value as JSON and decodes it.
func through[T any](t testingT, from *T) *T {
	out := new(T)
	if err := convert(from, out); err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// leaf is the path of a rendered value that is neither an object nor a list, or of an empty object.
type leaf []any

func (l leaf) String() string { return fmt.Sprint([]any(l)) }

// leafFieldsOf lists the rendered values. Empty objects count if they carry information, such as the
// kind of a volume.
func leafFieldsOf(t testingT, set *appsv1.StatefulSet) []leaf {
	t.Helper()
	var tree content
	if err := convert(set, &tree); err != nil {
		t.Fatalf("%v", err)
	}
	var out []leaf
	// Labels of the StatefulSet itself are repaired in place: TestRemovedLabelsAreRestored.
	meta, _ := tree["metadata"].(content)
	walk(meta["annotations"], leaf{"metadata", "annotations"}, &out)
	walk(tree["spec"], leaf{"spec"}, &out)
	return out
}

func walk(v any, at leaf, out *[]leaf) {
	switch v := v.(type) {
	case content:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walk(v[k], append(slices.Clip(at), k), out)
		}
		if last, _ := at[len(at)-1].(string); len(v) == 0 && last == "emptyDir" {
			*out = append(*out, at)
		}
	case []any:
		for i, e := range v {
			walk(e, append(slices.Clip(at), i), out)
		}
	case nil:
	default:
		*out = append(*out, at)
	}
}

// listsOf lists the paths of the lists that the leaves are in.
func listsOf(leafFields []leaf) []leaf {
	var out []leaf
	seen := map[string]bool{}
	for _, l := range leafFields {
		for i, step := range l {
			if _, index := step.(int); index && !seen[l[:i].String()] {
				seen[l[:i].String()] = true
				out = append(out, l[:i])
			}
		}
	}
	return out
}

// longer returns a copy of the StatefulSet in which the first entry of the list is duplicated.
func (l leaf) longer(t testingT, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	t.Helper()
	return edited(t, set, func(tree content) {
		list, _ := l.in(tree).([]any)
		parent, _ := l[:len(l)-1].in(tree).(content)
		name, _ := l[len(l)-1].(string)
		parent[name] = append(list, list[0])
	})
}

// changed returns a copy of the StatefulSet with a different value.
func (l leaf) changed(t testingT, set *appsv1.StatefulSet) *appsv1.StatefulSet {
	t.Helper()
	return edited(t, set, func(tree content) {
		parent := l[:len(l)-1]
		if parent.in(tree) == nil { // a map without entries
			above, _ := parent[:len(parent)-1].in(tree).(content)
			above[fmt.Sprint(parent[len(parent)-1])] = content{}
		}
		l.set(parent.in(tree))
	})
}

func edited(t testingT, set *appsv1.StatefulSet, edit func(content)) *appsv1.StatefulSet {
	t.Helper()
	var tree content
	if err := convert(set, &tree); err != nil {
		t.Fatalf("%v", err)
	}
	edit(tree)
	out := &appsv1.StatefulSet{}
	if err := convert(tree, out); err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

// in returns the value at the path, nil if there is none.
func (l leaf) in(tree any) any {
	at := tree
	for _, step := range l {
		switch step := step.(type) {
		case string:
			m, _ := at.(content)
			at = m[step]
		case int:
			list, _ := at.([]any)
			if step >= len(list) {
				return nil
			}
			at = list[step]
		}
	}
	return at
}

func (l leaf) set(at any) {
	switch at := at.(type) {
	case content:
		k, _ := l[len(l)-1].(string)
		if was, there := at[k]; there && reflect.ValueOf(was).Kind() == reflect.Map {
			delete(at, k)
			return
		}
		at[k] = other(at[k], l)
	case []any:
		i, _ := l[len(l)-1].(int)
		at[i] = other(at[i], l)
	}
}

// isQuantity reports whether the value must stay a valid quantity.
func (l leaf) isQuantity() bool {
	for _, step := range l {
		if s, _ := step.(string); s == "limits" || s == "requests" || s == "overhead" || s == "sizeLimit" || s == "divisor" {
			return true
		}
	}
	return false
}

func other(v any, l leaf) any {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return v + 1
	case string:
		if l.isQuantity() {
			return "7777"
		}
		return v + "x"
	}
	return strings.Repeat("x", 3)
}
