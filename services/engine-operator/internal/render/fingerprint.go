package render

import (
	"encoding/json"
	"fmt"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// Fingerprint hashes all that would be rendered, whatever the number of the generation.
//
// It is stable across releases that render the same: what the Kubernetes libraries write
// for an unset field (null, an empty object, or nothing) does not count.
func Fingerprint(in Input) (string, error) {
	in.Generation = 0
	g, err := draw(in)
	if err != nil {
		return "", err
	}
	raw, err := json.Marshal([]any{
		g.Config.Data, g.Headless.Spec, g.StatefulSet.Labels, g.StatefulSet.Annotations, g.StatefulSet.Spec,
	})
	if err != nil {
		return "", fmt.Errorf("marshal rendering of engine %q: %w", in.Engine.Name, err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return "", fmt.Errorf("read rendering of engine %q: %w", in.Engine.Name, err)
	}
	return resolve.Hash(prune(tree))
}

// prune drops unset fields. An empty emptyDir is set: it says which kind of volume it is.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			e = prune(e)
			if inner, isObject := e.(map[string]any); e == nil || (isObject && len(inner) == 0 && k != "emptyDir") {
				delete(v, k)
				continue
			}
			v[k] = e
		}
		return v
	case []any:
		for i := range v {
			v[i] = prune(v[i])
		}
	}
	return v
}
