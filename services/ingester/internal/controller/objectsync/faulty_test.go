package objectsync

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/storage"
)

// faulty is storage whose calls fail before or after they took effect.
type faulty struct {
	storage.IngesterStorage
	fault func() bool
}

var errBroke = errors.New("broke off")

func (f *faulty) Upsert(ctx context.Context, o runtime.Object, _ bool, _ []storage.IndexedField) error {
	return f.call(func() error { return f.IngesterStorage.Upsert(ctx, o, false, nil) })
}

func (f *faulty) Finish(ctx context.Context, o runtime.Object) error {
	return f.call(func() error { return f.IngesterStorage.Finish(ctx, o) })
}

func (f *faulty) Evict(ctx context.Context, o runtime.Object) error {
	return f.call(func() error { return f.IngesterStorage.Evict(ctx, o) })
}

func (f *faulty) Release(ctx context.Context, o runtime.Object) error {
	return f.call(func() error { return f.IngesterStorage.Release(ctx, o) })
}

func (f *faulty) Reopen(ctx context.Context, o runtime.Object) error {
	return f.call(func() error { return f.IngesterStorage.Reopen(ctx, o) })
}

func (f *faulty) call(do func() error) error {
	if f.fault() {
		return errBroke
	}
	err := do()
	if f.fault() {
		return errBroke
	}
	return err
}
