package metrics

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// Lister lists the existing objects. Callers must not change them.
type Lister struct {
	Engines   func(context.Context) ([]v1alpha1.FireboltEngine, error)
	Instances func(context.Context) ([]v1alpha1.FireboltInstance, error)
}

// FromCache returns a Lister of a manager's cache, which does not copy the objects.
func FromCache(cache client.Reader) Lister {
	return Lister{
		Engines: func(ctx context.Context) ([]v1alpha1.FireboltEngine, error) {
			list := &v1alpha1.FireboltEngineList{}
			if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return nil, fmt.Errorf("list engines: %w", err)
			}
			return list.Items, nil
		},
		Instances: func(ctx context.Context) ([]v1alpha1.FireboltInstance, error) {
			list := &v1alpha1.FireboltInstanceList{}
			if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
				return nil, fmt.Errorf("list instances: %w", err)
			}
			return list.Items, nil
		},
	}
}
