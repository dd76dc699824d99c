package checkpoint

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// StoreReleased stores an object that only foreign finalizers hold, while the database is behind.
// The database does not show whether the ingester evicted the object, so its row is marked as
// evicted, unless the database has its deletion. StoreReleased reports whether the row is marked.
func StoreReleased(ctx context.Context, store storage.IngesterStorage, o runtime.Object) (evicted bool, err error) {
	err = store.Evict(ctx, o)
	if errors.Is(err, storage.ErrUnconfirmed) {
		return false, store.Release(ctx, o)
	}
	return err == nil, err
}
