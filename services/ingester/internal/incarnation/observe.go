package incarnation

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// Observed returns the store for the controller of one kind. For an object that the store rejects
// as stale, the watch checks whether the cache was stale or the cluster was restored.
func Observed(store storage.IngesterStorage, kind string, w *Watch) storage.IngesterStorage {
	return &observed{IngesterStorage: store, kind: kind, watch: w}
}

type observed struct {
	storage.IngesterStorage
	kind  string
	watch *Watch
}

func (o *observed) Upsert(ctx context.Context, object runtime.Object, direct bool, fields []storage.IndexedField) error {
	return o.checkStale(object, o.IngesterStorage.Upsert(ctx, object, direct, fields))
}

func (o *observed) Finish(ctx context.Context, object runtime.Object) error {
	return o.checkStale(object, o.IngesterStorage.Finish(ctx, object))
}

func (o *observed) Evict(ctx context.Context, object runtime.Object) error {
	return o.checkStale(object, o.IngesterStorage.Evict(ctx, object))
}

func (o *observed) Release(ctx context.Context, object runtime.Object) error {
	return o.checkStale(object, o.IngesterStorage.Release(ctx, object))
}

func (o *observed) Reopen(ctx context.Context, object runtime.Object) error {
	return o.checkStale(object, o.IngesterStorage.Reopen(ctx, object))
}

// checkStale requests a check of an object that the store rejected as stale, and returns err.
func (o *observed) checkStale(object runtime.Object, err error) error {
	if !errors.Is(err, storage.ErrStale) {
		return err
	}
	if m, accessErr := meta.Accessor(object); accessErr == nil {
		o.watch.RequestCheck(o.kind, types.NamespacedName{Namespace: m.GetNamespace(), Name: m.GetName()}, m.GetUID())
	}
	return err
}
