package observe

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Cache indexes that find engines by the object that they refer to.
const (
	IndexInstance = "spec.instanceRef"
	IndexClass    = "spec.engineClassRef"
)

// registerReferences adds the indexes of engines.
func registerReferences(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []string{IndexInstance, IndexClass} {
		err := indexer.IndexField(ctx, &v1alpha1.FireboltEngine{}, index, func(o client.Object) []string {
			if e, ok := o.(*v1alpha1.FireboltEngine); ok && reference(index, e) != "" {
				return []string{reference(index, e)}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index engines by %s: %w", index, err)
		}
	}
	return nil
}

// reference returns the name by which the index finds the engine; empty for none.
func reference(index string, e *v1alpha1.FireboltEngine) string {
	switch {
	case index == IndexInstance:
		return e.Spec.InstanceRef
	case index == IndexClass && e.Spec.EngineClassRef != nil:
		return *e.Spec.EngineClassRef
	}
	return ""
}

// ListReferring lists the engines that refer to an object from the API server, which has no such index. A terminating engine
// counts until it no longer exists.
func ListReferring(ctx context.Context, apiReader client.Reader, index string, to client.ObjectKey) ([]v1alpha1.FireboltEngine, error) {
	var list v1alpha1.FireboltEngineList
	if err := apiReader.List(ctx, &list, client.InNamespace(to.Namespace)); err != nil {
		return nil, fmt.Errorf("list engines that refer to %q: %w", to.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(e v1alpha1.FireboltEngine) bool { return reference(index, &e) != to.Name }), nil
}

// EngineNames returns the sorted names of engines.
func EngineNames(engines []v1alpha1.FireboltEngine) []string {
	var out []string
	for i := range engines {
		out = append(out, engines[i].Name)
	}
	slices.Sort(out)
	return out
}
