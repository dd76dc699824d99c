package apply

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type options struct {
	former      []string
	adopt       bool
	createOnly  bool
	lock        bool
	propagation metav1.DeletionPropagation
}

func (o options) with(opts []Option) options {
	o.former = slices.Clone(o.former)
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// Option changes how an [Applier] writes, for all its calls or for one.
type Option func(*options)

// WithFormerManagers names field managers whose fields the Applier takes ownership of,
// typically those of an earlier release that wrote with Update. They must no longer
// write. The Applier's own name is always among them.
func WithFormerManagers(names ...string) Option {
	return func(o *options) { o.former = append(o.former, names...) }
}

// WithCreateOnly makes an apply without an existing object create or fail with
// [ErrStale]: an object that the cache does not show stays unchanged.
func WithCreateOnly() Option { return func(o *options) { o.createOnly = true } }

// WithAdoption lets an existing object without any controller become the owner's.
// An object that has another controller is never adopted.
func WithAdoption() Option { return func(o *options) { o.adopt = true } }

// WithOptimisticLock makes an apply fail with [ErrStale] if the existing object changed since it was read: the desired object
// contains fields of it.
func WithOptimisticLock() Option { return func(o *options) { o.lock = true } }

// WithPropagation sets the deletion propagation policy; the default is Background.
func WithPropagation(p metav1.DeletionPropagation) Option {
	return func(o *options) { o.propagation = p }
}
