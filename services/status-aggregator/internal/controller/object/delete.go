package object

import (
	"context"
	"errors"

	"github.com/go-logr/logr"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
)

// reconcileDelete publishes the deletion of the object. received is the position of its latest
// observation before the API server returned not found. The model keeps the observations until they are purged from the
// stream, so that a resync repeats a purge that was dropped.
func (r *Reconciler) reconcileDelete(ctx context.Context, s *reconcileState, received model.Position) error {
	record, err := r.cfg.History.Load(ctx, s.ref)
	if err != nil {
		return err
	}
	uid := record.Entry.Object.UID
	complete, err := r.publishLastPhases(ctx, s, record)
	if err != nil {
		return err
	}
	if err := r.cfg.History.Delete(ctx, s.ref, !complete); err != nil {
		return err
	}
	if uid != "" {
		logr.FromContextOrDiscard(ctx).Info("Object was deleted", "object", s.ref.String(), "uid", uid)
	}
	r.deleteIncarnation(s.ref)
	r.cfg.Model.DeleteFormer(s.ref)
	return r.cfg.PurgeTombstone(s.ref, received, func() { r.cfg.Model.DeleteUpTo(s.ref, received) })
}

// replace ends the history of a previous incarnation of the name.
func (r *Reconciler) replace(ctx context.Context, s *reconcileState) (steps.Result, error) {
	uid := string(s.live.GetUID())
	r.cfg.Model.Prune(s.ref, uid, s.live.GetResourceVersion())
	formerUID := s.record.Entry.Object.UID
	if formerUID == "" || formerUID == uid {
		return steps.Result{}, nil
	}
	// The entry may be ahead of the cache: read the current UID from the API server.
	current, err := r.cfg.Reader.GetUncachedUID(ctx, s.kind, s.ref)
	switch {
	case errors.Is(err, observe.ErrNotFound) || err == nil && current != uid:
		return steps.Result{Stop: true, Requeue: steps.RequeueStale}, nil
	case err != nil:
		return steps.Result{}, err
	}
	complete, err := r.publishLastPhases(ctx, s, s.record)
	if err != nil {
		return steps.Result{}, err
	}
	if err := r.cfg.History.PublishDeleted(ctx, s.ref, !complete); err != nil {
		return steps.Result{}, err
	}
	position := r.cfg.Model.PositionOf(s.ref, formerUID)
	r.deleteIncarnation(s.ref)
	r.cfg.Model.Forget(s.ref, formerUID)
	// If this fails, the successor's next observation replaces the former one in the stream.
	return steps.Result{}, r.cfg.PurgeTombstone(s.ref, position, func() {})
}

// publishLastPhases publishes the phase changes in the last state of a previous incarnation. It
// reports whether that state was observed: without it, changes may be missing.
func (r *Reconciler) publishLastPhases(ctx context.Context, s *reconcileState, record *history.Record) (bool, error) {
	if record.Entry.Object.UID == "" {
		return true, nil
	}
	last, seen := r.cfg.Reader.Last(s.kind, s.ref, record.Entry.Object.UID)
	if !seen {
		return false, nil
	}
	if err := r.cfg.History.Flush(ctx, s.ref); err != nil {
		return false, err
	}
	_, err := r.cfg.History.Phases(ctx, s.ref, last.Identity(s.kind), last.Transitions)
	return true, err
}

func (r *Reconciler) deleteIncarnation(ref contract.Ref) {
	r.cfg.Reader.Drop(ref)
	r.forget(ref)
}
