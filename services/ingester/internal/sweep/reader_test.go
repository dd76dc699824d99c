package sweep

import (
	"context"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// reader intercepts the reads of the sweeper from the API server.
type reader struct {
	client.Reader
	mu       sync.Mutex
	get      func(kind string, key client.ObjectKey) error // before a read; an error is the answer
	list     func(list client.ObjectList, o *client.ListOptions) error
	requests atomic.Int64
}

func (r *reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	r.requests.Add(1)
	r.mu.Lock()
	hook := r.get
	r.mu.Unlock()
	if kind := into.GetObjectKind().GroupVersionKind().Kind; hook != nil && kind != "Namespace" {
		if err := hook(kind, key); err != nil {
			return err
		}
	}
	return r.Reader.Get(ctx, key, into, options...)
}

// List calls the hook with the filled list and returns its error.
func (r *reader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	r.requests.Add(1)
	if err := r.Reader.List(ctx, list, options...); err != nil {
		return err
	}
	if r.list == nil {
		return nil
	}
	o := &client.ListOptions{}
	o.ApplyOptions(options)
	return r.list(list, o)
}
