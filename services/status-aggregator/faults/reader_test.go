package faults

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// Get, GetUncached, GetUncachedUID, Last and Drop implement the watcher.
func (a *aggregator) Get(ctx context.Context, kind registry.Kind, r contract.Ref) (observe.Object, error) {
	if u := a.cache[r.Name]; u != nil {
		return observe.Read(kind, u.DeepCopy())
	}
	if _, err := a.GetUncachedUID(ctx, kind, r); err != nil {
		return observe.Object{}, err
	}
	return observe.Object{}, observe.ErrStale
}

func (a *aggregator) GetUncached(_ context.Context, kind registry.Kind, r contract.Ref) (observe.Object, error) {
	u := a.w.objects[r.Name]
	switch {
	case !a.w.apiUp:
		return observe.Object{}, errUnavailable
	case u == nil:
		return observe.Object{}, observe.ErrNotFound
	}
	return observe.Read(kind, u.DeepCopy())
}

func (a *aggregator) GetUncachedUID(ctx context.Context, kind registry.Kind, r contract.Ref) (string, error) {
	u, err := a.GetUncached(ctx, kind, r)
	if err != nil {
		return "", err
	}
	return string(u.GetUID()), nil
}

func (a *aggregator) Last(registry.Kind, contract.Ref, string) (observe.Object, bool) {
	return observe.Object{}, false
}

func (a *aggregator) Drop(contract.Ref) {}

// ApplyConditions implements the writer.
func (a *aggregator) ApplyConditions(_ context.Context, current client.Object, desired []metav1.Condition) (bool, error) {
	if !a.w.apiUp {
		return false, errUnavailable
	}
	u, ok := current.(*unstructured.Unstructured)
	if !ok {
		return false, fmt.Errorf("%T is not unstructured", current)
	}
	received, _, _ := a.model.Get(ref(u.GetName())).Pick(string(u.GetUID()), func(model.Received) bool { return false })
	changed, stale, err := a.w.apply(a.name, u, desired, received.Observation.ObservedAt)
	if stale {
		return false, ownedstatus.ErrStale
	}
	return changed, err
}
