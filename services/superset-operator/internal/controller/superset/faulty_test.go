package superset_test

import (
	"context"
	"errors"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// errCrash is what a client answers whose process has died.
var errCrash = errors.New("the process died")

// mortal lets a number of writes through; the process dies at the next one.
// Reads go on, so that what follows is decided by writes alone.
type mortal struct {
	client.Client
	left *atomic.Int64
}

func mortalAfter(writes int64) (*atomic.Int64, func(client.Client) client.Client) {
	left := &atomic.Int64{}
	left.Store(writes)
	return left, func(c client.Client) client.Client { return mortal{c, left} }
}

func (m mortal) spend() error {
	if m.left.Add(-1) < 0 {
		return errCrash
	}
	return nil
}

func (m mortal) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := m.spend(); err != nil {
		return err
	}
	return m.Client.Create(ctx, obj, opts...)
}

func (m mortal) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if err := m.spend(); err != nil {
		return err
	}
	return m.Client.Patch(ctx, obj, patch, opts...)
}

func (m mortal) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := m.spend(); err != nil {
		return err
	}
	return m.Client.Apply(ctx, obj, opts...)
}

func (m mortal) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := m.spend(); err != nil {
		return err
	}
	return m.Client.Delete(ctx, obj, opts...)
}

func (m mortal) Status() client.SubResourceWriter { return mortalStatus{m.Client.Status(), m} }

type mortalStatus struct {
	client.SubResourceWriter
	m mortal
}

func (s mortalStatus) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
	if err := s.m.spend(); err != nil {
		return err
	}
	return s.SubResourceWriter.Apply(ctx, obj, opts...)
}

// rewound answers reads of a Superset with an old copy for as long as there is
// one, as a cache does that lags far behind.
type rewound struct {
	client.Client
	old *atomic.Pointer[func(client.Object)]
}

func (r rewound) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := r.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	if replace := r.old.Load(); replace != nil {
		(*replace)(obj)
	}
	return nil
}
