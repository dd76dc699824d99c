package status

import (
	"context"
	"errors"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/watch"
)

// end says that the object is gone. heard is the place in the stream of the newest
// word on it that was known before the API server said so.
func (c *Controller) end(ctx context.Context, s *object, heard uint64) error {
	record, err := c.cfg.History.Load(ctx, s.ref)
	if err != nil {
		return err
	}
	uid := record.Entry.Object.UID
	whole, err := c.lastWords(ctx, s, record)
	if err != nil {
		return err
	}
	if err := c.cfg.History.Delete(ctx, s.ref, !whole); err != nil {
		return err
	}
	if uid != "" {
		logr.FromContextOrDiscard(ctx).Info("Object is gone", "object", s.ref.String(), "uid", uid)
	}
	c.buried(s.ref, uid)
	c.cfg.Model.Bury(s.ref, heard)
	return c.cfg.Sweep(s.ref, heard)
}

// replace ends the history of a former incarnation of the name.
func (c *Controller) replace(ctx context.Context, s *object) (steps.Result, error) {
	uid := string(s.live.GetUID())
	c.cfg.Model.Retain(s.ref, uid, s.live.GetResourceVersion())
	former := s.record.Entry.Object.UID
	if former == "" || former == uid {
		return steps.Result{}, nil
	}
	// The entry may be ahead of our cache: ask which of the two lives.
	alive, err := c.cfg.Watcher.LiveUID(ctx, s.kind, s.ref)
	switch {
	case errors.Is(err, watch.ErrGone) || err == nil && alive != uid:
		return steps.Result{Stop: true, Requeue: staleRetry}, nil
	case err != nil:
		return steps.Result{}, err
	}
	whole, err := c.lastWords(ctx, s, s.record)
	if err != nil {
		return steps.Result{}, err
	}
	if err := c.cfg.History.Bury(ctx, s.ref, !whole); err != nil {
		return steps.Result{}, err
	}
	place := c.cfg.Model.Get(s.ref).Place(former)
	c.buried(s.ref, former)
	return steps.Result{}, c.cfg.Sweep(s.ref, place)
}

// lastWords publishes the phase changes that the last state of a former incarnation
// holds. It says whether that state was seen: without it changes may be missing.
func (c *Controller) lastWords(ctx context.Context, s *object, record *history.Record) (bool, error) {
	if record.Entry.Object.UID == "" {
		return true, nil
	}
	last, seen := c.cfg.Watcher.Last(s.kind, s.ref, record.Entry.Object.UID)
	if !seen {
		return false, nil
	}
	if err := c.cfg.History.Flush(ctx, s.ref); err != nil {
		return false, err
	}
	_, err := c.cfg.History.Phases(ctx, s.ref, last.Identity(s.kind), last.Transitions)
	return true, err
}

func (c *Controller) buried(ref contract.Ref, uid string) {
	c.cfg.Watcher.Drop(ref)
	c.cfg.Model.Forget(ref, uid)
	c.forget(ref)
}
