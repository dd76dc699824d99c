package apply

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// keys are the fields that identify the items of a list; without any, the value
// identifies an item, as in a set.
type keys []string

// listKeys are the merge keys of the built-in lists, by field name. All other lists
// are atomic: compared item by item.
var listKeys = map[string]keys{
	"containers":                {"name"},
	"initContainers":            {"name"},
	"ephemeralContainers":       {"name"},
	"env":                       {"name"},
	"volumes":                   {"name"},
	"resourceClaims":            {"name"},
	"imagePullSecrets":          {"name"},
	"secrets":                   {"name"},
	"listeners":                 {"name"},
	"volumeMounts":              {"mountPath"},
	"volumeDevices":             {"devicePath"},
	"hostAliases":               {"ip"},
	"ownerReferences":           {"uid"},
	"topologySpreadConstraints": {"topologyKey", "whenUnsatisfiable"},
	"conditions":                {"type"},
	"finalizers":                {},
}

// mergeKeys returns the keys of a list, nil for an atomic one. It prefers the keys that
// the API server recorded in the managed fields, since those follow the schema.
func mergeKeys(name string, owned *fieldpath.Set, desired []any) keys {
	if k := recordedKeys(owned); k != nil {
		return k
	}
	if k, ok := listKeys[name]; ok && keyed(k, desired) {
		return k
	}
	if name != "ports" {
		return nil
	}
	for _, k := range []keys{{"containerPort", "protocol"}, {"port", "protocol"}} {
		if keyed(k[:1], desired) {
			return k
		}
	}
	return nil
}

func recordedKeys(owned *fieldpath.Set) keys {
	if owned == nil {
		return nil
	}
	var out keys
	add := func(pe fieldpath.PathElement) {
		if pe.Value != nil {
			out = keys{}
		}
		if pe.Key == nil || out != nil {
			return
		}
		out = keys{}
		for _, f := range *pe.Key {
			out = append(out, f.Name)
		}
	}
	owned.Members.Iterate(add)
	owned.Children.Iterate(add)
	return out
}

// keyed reports whether every item has the key fields; the items of another list with
// the same field name may lack them.
func keyed(k keys, items []any) bool {
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok && len(k) > 0 {
			return false
		}
		for _, field := range k {
			if _, ok := m[field]; !ok {
				return false
			}
		}
	}
	return true
}

// element returns the path element of an item, as managed fields encode it.
func (k keys) element(item any) fieldpath.PathElement {
	m, ok := item.(map[string]any)
	if !ok || len(k) == 0 {
		v := value.NewValueInterface(item)
		return fieldpath.PathElement{Value: &v}
	}
	fields := make([]any, 0, 2*len(k))
	for _, name := range k {
		v, ok := m[name]
		if !ok && name == "protocol" {
			v = "TCP" // the only key field that the API server defaults
		}
		fields = append(fields, name, v)
	}
	return fieldpath.PathElement{Key: new(*fieldpath.KeyByFields(fields...))}
}

// find returns the item that pe identifies, nil if there is none.
func (k keys) find(pe fieldpath.PathElement, items []any) any {
	for _, item := range items {
		if k.element(item).Equals(pe) {
			return item
		}
	}
	return nil
}
