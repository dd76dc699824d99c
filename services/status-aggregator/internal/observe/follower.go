package observe

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const (
	minBackoff = 250 * time.Millisecond // a CRD exists a moment before it is served
	maxBackoff = 15 * time.Second
)

// follower watches one kind while its CRD exists.
type follower struct {
	watcher *Watcher
	kind    registry.Kind
	exists  atomic.Bool
	changed chan struct{}
}

// want records whether the CRD exists.
func (f *follower) want(exists bool) {
	f.exists.Store(exists)
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

func (f *follower) run(ctx context.Context) {
	log := logr.FromContextOrDiscard(ctx).WithValues("kind", f.kind.GVK.Kind)
	following, delay := false, minBackoff
	for {
		var retry <-chan time.Time
		switch {
		case f.exists.Load() && !following:
			if err := f.follow(ctx); err != nil {
				if ctx.Err() != nil {
					return
				}
				log.Info("Failed to watch kind", "reason", err.Error(), "retryAfter", delay.String())
				retry, delay = f.watcher.cfg.Clock.After(delay), min(2*delay, maxBackoff)
				break
			}
			log.Info("Watching kind")
			following, delay = true, minBackoff
			f.watcher.cfg.OnKind(f.kind)
		case !f.exists.Load() && following:
			if err := f.stop(ctx); err != nil {
				log.Error(err, "Failed to stop watching kind")
			}
			log.Info("Stopped watching kind because its CRD was deleted")
			following = false
		}
		select {
		case <-ctx.Done():
			return
		case <-f.changed:
		case <-retry:
		}
	}
}

// follow starts the informer and returns after it has synced.
func (f *follower) follow(ctx context.Context) error {
	w := f.watcher
	informer, err := w.cfg.Cache.GetInformer(ctx, f.template())
	if err != nil {
		return fmt.Errorf("watch %s: %w", f.kind.Resource, err)
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    f.notify,
		UpdateFunc: func(_, obj any) { f.notify(obj) },
		DeleteFunc: f.ended,
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", f.kind.Resource, err)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return ctx.Err()
	}
	w.setFollowed(f.kind.Token, true)
	return nil
}

// stop stops the informer and reports each of its objects, which were deleted with the CRD.
func (f *follower) stop(ctx context.Context) error {
	w := f.watcher
	refs, err := w.List(ctx)
	w.setFollowed(f.kind.Token, false)
	for _, ref := range refs {
		if ref.Kind == f.kind.Token {
			w.cfg.OnObject(ref)
		}
	}
	return errors.Join(err, w.cfg.Cache.RemoveInformer(ctx, f.template()))
}

func (f *follower) template() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(f.kind.GVK)
	return u
}

func (f *follower) notify(obj any) {
	if o, ok := metaObject(obj); ok {
		f.watcher.cfg.OnObject(f.watcher.ref(f.kind, o))
	}
}

func (f *follower) ended(obj any) {
	o, ok := metaObject(obj)
	if !ok {
		return
	}
	ref := f.watcher.ref(f.kind, o)
	if u, ok := o.(*unstructured.Unstructured); ok && isFinal(obj) {
		f.watcher.keepDeleted(ref, u)
	}
	f.watcher.cfg.OnObject(ref)
}

// isFinal reports whether obj is the final state, and not the last one before a gap in the watch.
func isFinal(obj any) bool {
	_, unknown := obj.(toolscache.DeletedFinalStateUnknown)
	return !unknown
}
