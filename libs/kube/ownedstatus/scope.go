package ownedstatus

import (
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/managedfields"
)

const conditionsField = "conditions"

// scopeOf returns which fields of another manager are the Writer's.
//
// These are all fields of the status except conditions, and the condition types that
// the Writer applies or may apply. Conditions of other types are the Writer's only if
// the same manager owns other fields too: then it wrote the whole status, as an earlier
// release or a restore does, and keeps nothing. The reserved types among them have no
// owner until their Writer applies them. A manager that owns only conditions of other
// types keeps them. One that owns only the list itself loses it: the list would stay
// after its last item was removed, as null, which the API server rejects.
func (w *Writer) scopeOf(desired map[string]any) managedfields.Scope {
	types := w.types.Union(typesOf(desired))
	return func(set *fieldpath.Set) (claimed, kept *fieldpath.Set) {
		fields, own, unknown := &fieldpath.Set{}, &fieldpath.Set{}, &fieldpath.Set{}
		ownsList, ownsOthers := false, false // the list, and conditions that are not the Writer's
		set.Iterate(func(path fieldpath.Path) {
			switch conditionType, part := partOf(path); {
			case part == field:
				fields.Insert(path.Copy())
			case part == list:
				ownsList = true
			case part == frame:
			case types.Has(conditionType):
				own.Insert(path.Copy())
			default:
				ownsOthers = true
				if !w.reserved.Has(conditionType) {
					unknown.Insert(path.Copy())
				}
			}
		})
		switch {
		case !fields.Empty():
			return fields.Union(own).Union(unknown), &fieldpath.Set{}
		case ownsList && !ownsOthers:
			return own, &fieldpath.Set{}
		}
		return own, set.Difference(own)
	}
}

// onlyConditions reports whether only conditions are applied.
func onlyConditions(desired map[string]any) bool {
	return len(desired) == 0 || len(desired) == 1 && desired[conditionsField] != nil
}

// part is the kind of field at a path of a status.
type part int

const (
	frame part = iota // the status itself
	list              // its list of conditions
	field             // any other field, or something in it
	item              // a condition
)

func partOf(path fieldpath.Path) (conditionType string, _ part) {
	if len(path) < 2 {
		return "", frame
	}
	if name := path[1].FieldName; name == nil || *name != conditionsField {
		return "", field
	}
	if len(path) < 3 || path[2].Key == nil {
		return "", list
	}
	for _, key := range *path[2].Key {
		if key.Name == "type" && key.Value.IsString() {
			return key.Value.AsString(), item
		}
	}
	return "", list
}

// typesOf returns the condition types in a status as toJSON returns it.
func typesOf(status map[string]any) sets.Set[string] {
	out := sets.New[string]()
	list, _ := status[conditionsField].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			if conditionType, ok := c["type"].(string); ok {
				out.Insert(conditionType)
			}
		}
	}
	return out
}
