package apply

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/flotilla-dev/flotilla/libs/kube/internal/managedfields"
)

// difference is one desired field that the cluster's object does not have, or that
// is no longer ours. It contains only a hash of the live value: differences are
// logged, and the value may be a secret.
type difference struct {
	path string
	live uint64
	list fieldpath.Path // of a missing list item: where the list is
}

type differences []difference

func (d differences) equal(other differences) bool {
	return slices.EqualFunc(d, other, func(a, b difference) bool { return a.path == b.path && a.live == b.live })
}

// lists returns the lists that miss an item.
func (d differences) lists() []fieldpath.Path {
	var out []fieldpath.Path
	for i := range d {
		if d[i].list != nil {
			out = append(out, d[i].list)
		}
	}
	return out
}

func (d differences) paths() []string {
	out := make([]string, len(d))
	for i := range d {
		out[i] = d[i].path
	}
	return out
}

// differences compares the configuration with an object of the cluster.
//
// A desired field must have its value; other fields are defaulted or foreign. As far
// as managed fields are known we must also own each desired field, which shows what
// others added to lists and maps that are owned as a whole, and we must own no field
// that is no longer desired. That is exactly when an apply changes nothing.
func (c config) differences(live client.Object, entries []metav1.ManagedFieldsEntry, manager string) (differences, error) {
	owned, err := managedfields.Applied(&metav1.ObjectMeta{ManagedFields: entries}, manager, "")
	if err != nil {
		return nil, err
	}
	if owned == nil && len(entries) > 0 {
		owned = &fieldpath.Set{} // known: we own no field
	}
	content, err := jsonOf(live)
	if err != nil {
		return nil, err
	}
	found := compare(c.digested(c.content.Object), c.digested(content), owned)
	if owned != nil {
		// The next apply removes fields that we own and that are no longer desired.
		for _, path := range managedfields.Surplus(owned, c.content.Object) {
			found = append(found, difference{path: "-" + path.String()})
		}
	}
	slices.SortFunc(found, func(a, b difference) int { return cmp.Compare(a.path, b.path) })
	return found, nil
}

func compare(desired, live map[string]any, owned *fieldpath.Set) differences {
	c := comparison{}
	for k, v := range desired {
		switch k {
		case "apiVersion", "kind": // a typed object does not carry them
		case "metadata":
			c.metadata(owned, v, live[k])
		default:
			c.field(fieldpath.Path{}, owned, k, pair{v, live[k]})
		}
	}
	return c.found
}

type comparison struct{ found differences }

// pair is a desired value and the live value of the same field, nil if the field is absent.
type pair struct{ desired, live any }

// metadata compares labels, annotations and other metadata. It skips name and namespace,
// which identify the object and have no field manager.
func (c *comparison) metadata(owned *fieldpath.Set, desired, live any) {
	w, _ := desired.(map[string]any) // an object always has metadata, and a nil map compares as empty
	l, _ := live.(map[string]any)
	pe := fieldpath.FieldNameElement("metadata")
	below := descend(owned, pe)
	for k, v := range w {
		if k == "name" || k == "namespace" {
			continue
		}
		c.field(fieldpath.Path{pe}, below, k, pair{v, l[k]})
	}
}

// field compares the field k of a map. owned is the set of the map, nil when unknown.
func (c *comparison) field(at fieldpath.Path, owned *fieldpath.Set, k string, p pair) {
	pe := fieldpath.FieldNameElement(k)
	path := append(slices.Clone(at), pe)
	if owned != nil && !owns(owned, pe) {
		c.add(path, p.live)
		return
	}
	c.value(path, descend(owned, pe), k, p)
}

func (c *comparison) value(path fieldpath.Path, owned *fieldpath.Set, name string, p pair) {
	switch w := p.desired.(type) {
	case map[string]any:
		l, ok := p.live.(map[string]any)
		if !ok {
			c.add(path, p.live)
			return
		}
		for k, v := range w {
			c.field(path, owned, k, pair{v, l[k]})
		}
	case []any:
		l, ok := p.live.([]any)
		if !ok && len(w) > 0 {
			c.add(path, p.live)
			return
		}
		c.list(path, owned, name, w, l)
	default:
		if !equalScalar(p.desired, p.live) {
			c.add(path, p.live)
		}
	}
}

func (c *comparison) list(path fieldpath.Path, owned *fieldpath.Set, name string, desired, live []any) {
	keys := mergeKeys(name, owned, desired)
	if keys == nil {
		if len(desired) != len(live) {
			c.add(path, live)
			return
		}
		for i, w := range desired {
			// The list is owned as a whole, as the caller has checked.
			c.value(append(slices.Clone(path), fieldpath.IndexElement(i)), nil, "", pair{w, live[i]})
		}
		return
	}
	for _, w := range desired {
		pe := keys.element(w)
		at := append(slices.Clone(path), pe)
		item := keys.find(pe, live)
		if item == nil {
			c.found = append(c.found, difference{path: at.String(), live: fingerprint(nil), list: path})
			continue
		}
		if owned != nil && !owns(owned, pe) {
			c.add(at, item)
			continue
		}
		c.value(at, descend(owned, pe), "", pair{w, item})
	}
}

func (c *comparison) add(path fieldpath.Path, live any) {
	c.found = append(c.found, difference{path: path.String(), live: fingerprint(live)})
}

func owns(set *fieldpath.Set, pe fieldpath.PathElement) bool {
	if set.Members.Has(pe) {
		return true
	}
	_, ok := set.Children.Get(pe)
	return ok
}

// descend returns the set below pe; nil (unknown, do not check) when it is owned
// as a whole, or when the owned fields are unknown.
func descend(set *fieldpath.Set, pe fieldpath.PathElement) *fieldpath.Set {
	if set == nil {
		return nil
	}
	child, ok := set.Children.Get(pe)
	if !ok {
		return nil
	}
	return child
}

func equalScalar(a, b any) bool {
	if a == b {
		return true
	}
	// JSON does not distinguish 1 from 1.0.
	x, ok := asFloat(a)
	y, ok2 := asFloat(b)
	return ok && ok2 && x == y
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func fingerprint(v any) uint64 {
	h := fnv.New64a()
	raw, err := json.Marshal(v)
	if err != nil {
		raw = fmt.Appendf(nil, "%T", v) // not JSON, so not from the API server
	}
	h.Write(raw)
	return h.Sum64()
}
