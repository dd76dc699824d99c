package resolve

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

// protectedPaths lists the paths of config.yaml that belong to the operator: whole sections
// (nil), or single keys of a section. They are removed from users' configuration.
var protectedPaths = map[string][]string{
	"schema_version": nil,
	"endpoints":      nil,
	"instance":       {"id", "type", "multi_engine", "auth"},
	"engine":         {"id", "nodes", "termination_grace_period"},
}

// mergeConfig merges the engine's configuration over the class's, both without protected paths.
func mergeConfig(class, engine *apiextensionsv1.JSON) (map[string]any, error) {
	var out map[string]any
	for _, layer := range []struct {
		from string
		json *apiextensionsv1.JSON
	}{{"class", class}, {"engine", engine}} {
		if layer.json == nil || len(layer.json.Raw) == 0 {
			continue
		}
		var m map[string]any // numbers as the API server reads them: no integer loses digits
		if err := kubejson.Unmarshal(layer.json.Raw, &m); err != nil {
			return nil, fmt.Errorf("read customEngineConfig of the %s: %w", layer.from, err)
		}
		withoutMergeKeys(m)
		out = Overlay(out, strip(m))
	}
	return out, nil
}

// mergeKey makes a YAML reader merge its value into the surrounding
// map, which could restore protected paths.
const mergeKey = "<<"

func withoutMergeKeys(v any) {
	switch v := v.(type) {
	case map[string]any:
		delete(v, mergeKey)
		for _, inner := range v {
			withoutMergeKeys(inner)
		}
	case []any:
		for _, inner := range v {
			withoutMergeKeys(inner)
		}
	}
}

// strip removes the protected paths. A protected section that is not an object is removed
// as a whole, and so is one that becomes empty.
func strip(m map[string]any) map[string]any {
	out := maps.Clone(m)
	for section, keys := range protectedPaths {
		if keys == nil {
			delete(out, section)
			continue
		}
		inner, isObject := out[section].(map[string]any)
		inner = maps.Clone(inner)
		for _, k := range keys {
			delete(inner, k)
		}
		if !isObject || len(inner) == 0 {
			delete(out, section)
			continue
		}
		out[section] = inner
	}
	return out
}

// Overlay merges upper over lower: objects are merged key by key, all other values are replaced.
func Overlay(lower, upper map[string]any) map[string]any {
	out := maps.Clone(lower)
	if out == nil && len(upper) > 0 {
		out = map[string]any{}
	}
	for k, v := range upper {
		below, okBelow := out[k].(map[string]any)
		above, okAbove := v.(map[string]any)
		if okBelow && okAbove {
			out[k] = Overlay(below, above)
			continue
		}
		out[k] = v
	}
	return out
}

// Hash returns the first 16 hexadecimal digits of the SHA-256 of v as JSON, whose keys are sorted.
func Hash(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal: %w", err)
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])[:16], nil
}

// templateHash returns the [Hash] of a pod template. Values that a Kubernetes library writes for an unset
// field (null, an empty object, or nothing) do not count: they differ between versions,
// and an upgrade of the operator must not roll engines.
func templateHash(t *corev1.PodTemplateSpec) (string, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return "", fmt.Errorf("marshal: %w", err)
	}
	var tree any
	if err := kubejson.Unmarshal(raw, &tree); err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	return Hash(withoutUnset(tree))
}

func withoutUnset(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			e = withoutUnset(e)
			if inner, isObject := e.(map[string]any); e == nil || isObject && len(inner) == 0 {
				delete(v, k)
				continue
			}
			v[k] = e
		}
		return v
	case []any:
		for i := range v {
			v[i] = withoutUnset(v[i])
		}
		return v
	}
	return v
}
