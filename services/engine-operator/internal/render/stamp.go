package render

import (
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// AnnotateDeployment sets the annotation with the fingerprint of a component's rendering.
func AnnotateDeployment(d *appsv1.Deployment) error { return annotateHash(d, d.Spec) }

// annotateHash hashes the whole rendering of a workload of an instance. The configuration
// is included through its hash in the pod template; unset fields do not count.
func annotateHash(workload metav1.Object, spec any) error {
	annotations := map[string]string{}
	maps.Copy(annotations, workload.GetAnnotations())
	delete(annotations, names.AnnotationRenderingHash)
	raw, err := json.Marshal([]any{workload.GetLabels(), annotations, spec})
	if err != nil {
		return fmt.Errorf("marshal rendering of %q: %w", workload.GetName(), err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return fmt.Errorf("read rendering of %q: %w", workload.GetName(), err)
	}
	hash, err := resolve.Hash(withoutUnset(tree))
	if err != nil {
		return fmt.Errorf("hash rendering of %q: %w", workload.GetName(), err)
	}
	annotations[names.AnnotationRenderingHash] = hash
	workload.SetAnnotations(annotations)
	return nil
}

// withoutUnset drops the values that the Kubernetes libraries write for an unset field, which differ
// between their releases. An empty emptyDir counts as set: it is the type of the
// volume.
func withoutUnset(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			e = withoutUnset(e)
			if inner, isObject := e.(map[string]any); e == nil || (isObject && len(inner) == 0 && k != "emptyDir") {
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
	}
	return v
}
