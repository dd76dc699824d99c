package object

import (
	"context"
	"errors"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/ownedstatus"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/history"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

// requeueRejected is the pause after a write that the API server rejects until another client
// changes the object. Such a change also arrives as an event.
const requeueRejected = 30 * time.Second

// writeRefused is the outcome of a write of conditions that the API server rejects.
const writeRefused = "refused"

// reconcileState is the state of one reconcile.
type reconcileState struct {
	ref    contract.Ref
	now    time.Time
	kind   registry.Kind
	live   observe.Object
	record *history.Record
	// held keeps the conditions of the object unchanged.
	held     bool
	result   conditions.Result
	entry    contract.StatusEntry
	received *model.Received // observation of the decision; nil if there was none
	span     trace.Span      // nil until the reconcile writes something
}

// knownEntry returns the last status entry of the current incarnation.
func (s *reconcileState) knownEntry() *contract.StatusEntry {
	if s.record.Entry.Object.UID != string(s.live.GetUID()) {
		return nil
	}
	return &s.record.Entry
}

func (r *Reconciler) guard(_ context.Context, s *reconcileState) (steps.Result, error) {
	kind, managed := r.cfg.Kinds.Lookup(s.ref.Kind)
	s.kind = kind
	return steps.Result{Stop: !managed || !r.cfg.Permitted()}, nil
}

// load reads the object and its entry, and publishes the pending events of the entry.
func (r *Reconciler) load(ctx context.Context, s *reconcileState) (steps.Result, error) {
	received := r.cfg.Model.LatestPosition(s.ref) // must precede Get, so that an observation of a successor is kept
	live, err := r.cfg.Reader.Get(ctx, s.kind, s.ref)
	switch {
	case errors.Is(err, observe.ErrNotFound):
		return steps.Result{Stop: true}, r.reconcileDelete(ctx, s, received)
	case errors.Is(err, observe.ErrStale):
		return steps.Result{Stop: true}, nil // its event will enqueue the object
	case err != nil:
		return steps.Result{}, err
	}
	if r.isStale(s.ref, live.GetResourceVersion()) {
		return steps.Result{Stop: true, Requeue: steps.RequeueStale}, nil
	}
	s.live = live
	if s.record, err = r.cfg.History.Load(ctx, s.ref); err != nil {
		return steps.Result{}, err
	}
	return steps.Result{}, r.cfg.History.Flush(ctx, s.ref)
}

// compute decides and computes the next conditions.
func (r *Reconciler) compute(_ context.Context, s *reconcileState) (steps.Result, error) {
	f := r.decisionInputs(s)
	if lags(s.live.GetResourceVersion(), f.received, s.now) { // the write would conflict
		return steps.Result{Stop: true, Requeue: Gather}, nil
	}
	r.recordInputs(s, f)
	s.received = f.received
	d := decide(f)
	result := steps.Result{Requeue: until(d.retryAt, s.now)}
	s.held = d.hold
	if d.hold {
		known := s.knownEntry()
		if known == nil {
			return steps.Result{Stop: true, Requeue: result.Requeue}, nil
		}
		s.entry = *known
	} else {
		in := conditions.Input{
			Generation: s.live.GetGeneration(),
			Deleting:   s.live.GetDeletionTimestamp() != nil,
			Freshness:  d.freshness,
			Now:        s.now,
			Previous:   previous(f.present, s.knownEntry()),
			Memory:     s.record.Memory,
			WithReady:  conditions.WithReady(s.kind.Token),
		}
		in.Observation, in.Freshness = effectiveObservation(f, d.freshness, s.kind.Observer)
		s.result = conditions.Compute(in)
		// All other types are published at once.
		r.cfg.Metrics.Held(s.ref, conditions.TypeDegraded, !s.result.Next.IsZero())
		s.entry = newEntry(s, f.received, in.Freshness)
		result.Requeue = steps.MinRequeue(result.Requeue, until(s.result.Next, s.now))
	}
	s.entry.Object = s.live.Identity(s.kind)
	s.entry.Phase = s.live.Phase
	s.entry.UpdatedAt = s.now.UTC()
	return result, nil
}

// decisionInputs returns the inputs of the decision. It has no side effects.
func (r *Reconciler) decisionInputs(s *reconcileState) inputs {
	f := inputs{now: s.now, entry: s.knownEntry(), present: ownConditions(s.live.Conditions, conditions.WithReady(s.kind.Token))}
	state, end := r.cfg.Liveness.State(s.kind.Observer, s.now)
	if state == liveness.Alive && !s.now.Before(end) {
		state, f.overdue = liveness.Unconfirmed, true
	}
	f.state = state
	received, _, ok := r.cfg.Model.Get(s.ref).Pick(string(s.live.GetUID()), func(h model.Received) bool {
		isExpired, at := r.cfg.Liveness.EpochExpired(s.kind.Observer, h.Observation.Epoch, validity(h), s.now)
		if !isExpired {
			f.formerExpiry = at
		}
		return isExpired
	})
	if !ok {
		f.waitingSince = r.waitingSince(s.ref, s.now)
		return f
	}
	f.received = &received
	if f.state == liveness.Alive && r.cfg.Liveness.EpochInactive(s.kind.Observer, received.Observation.Epoch, s.now) {
		f.state = liveness.Stale // only other shards of the observer are alive
	}
	if isBehind(f) {
		f.waitingSince = r.waitingSince(s.ref, s.now)
	}
	if p := provenance(f); p != nil && p.Epoch > received.Observation.Epoch {
		if isExpired, at := r.cfg.Liveness.EpochExpired(s.kind.Observer, p.Epoch, validity(received), s.now); !isExpired {
			f.formerExpiry = at
		}
	}
	return f
}

// recordInputs records the inputs that later reconciles and the metrics use.
func (r *Reconciler) recordInputs(s *reconcileState, f inputs) {
	if f.waitingSince.IsZero() {
		r.clearWaiting(s.ref)
	} else {
		r.startWaiting(s.ref, s.now)
	}
	if f.received != nil {
		r.cfg.Metrics.Observed(s.ref, f.received.StoredAt)
	}
}

// phases publishes the phase changes in the status of the object.
func (r *Reconciler) phases(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if history.LatestSeq(s.live.Transitions) > s.record.Entry.LastTransitionSeq {
		ctx = s.withSpan(ctx)
	}
	last, err := r.cfg.History.Phases(ctx, s.ref, s.entry.Object, s.live.Transitions)
	if errors.Is(err, history.ErrPhaseRegressed) {
		return r.phaseRegressed(ctx, s)
	}
	s.entry.LastTransitionSeq = last
	return steps.Result{}, err
}

// phaseRegressed reads from the API server to distinguish a stale cache from a cluster that was
// restored from a backup. After a restore the entry is reset too, which publishes a gap.
func (r *Reconciler) phaseRegressed(ctx context.Context, s *reconcileState) (steps.Result, error) {
	live, err := r.cfg.Reader.GetUncached(ctx, s.kind, s.ref)
	switch {
	case errors.Is(err, observe.ErrNotFound) || err == nil && live.GetResourceVersion() != s.live.GetResourceVersion():
		return steps.Result{Stop: true, Requeue: steps.RequeueStale}, nil
	case err != nil:
		return steps.Result{}, err
	}
	s.entry.LastTransitionSeq = history.LatestSeq(s.live.Transitions)
	return steps.Result{}, nil
}

// record writes the entry if it changed.
func (r *Reconciler) record(ctx context.Context, s *reconcileState) (steps.Result, error) {
	memory := s.result.Memory
	if s.held {
		memory = s.record.Memory
	}
	unchanged, err := sameEntry(s.record.Entry, s.entry)
	if err != nil {
		return steps.Result{}, err
	}
	sameState, err := sameJSON(s.record.Memory, memory)
	if err != nil || unchanged && sameState && s.record.Known() {
		return steps.Result{}, err
	}
	s.record, err = r.cfg.History.Put(s.withSpan(ctx), s.ref, s.entry, memory)
	if errors.Is(err, history.ErrConflict) {
		return steps.Result{Stop: true, Requeue: minBackoff}, nil // the plan is based on an old entry
	}
	return steps.Result{}, err
}

// events publishes the pending events of the entry.
func (r *Reconciler) events(ctx context.Context, s *reconcileState) (steps.Result, error) {
	return steps.Result{Stop: s.held}, r.cfg.History.Flush(s.withTrace(ctx), s.ref)
}

// write applies the conditions if they differ and the process is still permitted to. A change of reasons and
// messages only may be delayed.
func (r *Reconciler) write(ctx context.Context, s *reconcileState) (steps.Result, error) {
	if !r.cfg.Permitted() {
		return steps.Result{Stop: true}, nil
	}
	if conditions.OnlyDetailsDiffer(s.live.Conditions, s.result.Conditions) {
		if wait := r.details.Wait(s.ref); wait > 0 {
			return steps.Result{Requeue: wait}, nil
		}
	}
	before := s.live.GetResourceVersion()
	changed, err := r.cfg.Writer.ApplyConditions(s.withTrace(ctx), s.live.Unstructured, s.result.Conditions)
	switch {
	case errors.Is(err, ownedstatus.ErrStale):
		r.cfg.Metrics.Conflicts.WithLabelValues("status").Inc()
		return steps.Result{Requeue: steps.RequeueStale}, nil
	case apierrors.IsNotFound(err):
		return steps.Result{}, nil // its event will enqueue the object
	case apierrors.IsInvalid(err):
		// A schema may require status fields that the operator has not written yet.
		r.cfg.Metrics.Writes.WithLabelValues(writeRefused).Inc()
		logr.FromContextOrDiscard(ctx).Info("API server rejected conditions", "object", s.ref.String(), "reason", err.Error())
		return steps.Result{Requeue: requeueRejected}, nil
	case err != nil:
		return steps.Result{}, err
	}
	if !changed {
		r.cfg.Metrics.Writes.WithLabelValues("unchanged").Inc()
		return steps.Result{}, nil
	}
	r.cfg.Metrics.Writes.WithLabelValues("written").Inc()
	r.details.Written(s.ref)
	s.withSpan(ctx)
	r.recordWrite(s.ref, before)
	logr.FromContextOrDiscard(ctx).V(1).Info("Wrote conditions", "object", s.ref.String())
	return steps.Result{}, nil
}

// newEntry returns the entry for the computed conditions. Stale observations keep the provenance of the
// previous entry.
func newEntry(s *reconcileState, received *model.Received, freshness conditions.Freshness) contract.StatusEntry {
	e := contract.StatusEntry{Conditions: toContract(s.result.Conditions)}
	if known := s.knownEntry(); known != nil && known.Provenance != nil && freshness != conditions.Fresh {
		before := *known.Provenance
		before.Held = nil // no flip is pending without a fresh observation
		e.Provenance, e.DeployedVersion = &before, known.DeployedVersion
		return e
	}
	if received == nil {
		return e
	}
	o := received.Observation
	e.DeployedVersion = o.DeployedVersion
	e.Provenance = &contract.Provenance{
		Observer: o.Observer, Epoch: o.Epoch, Seq: o.Seq,
		StreamSequence: received.StreamSequence, ReceivedAt: received.ReceivedAt.UTC(), Evidence: s.result.Evidence,
	}
	if held := s.result.Held(); held != nil {
		e.Provenance.Held = &contract.Held{
			Type: conditions.TypeDegraded, Status: string(held.Status), Since: held.Since.UTC(), Until: held.Until.UTC(),
		}
	}
	return e
}

func validity(h model.Received) time.Duration {
	if h.Observation.ValidForSeconds <= 0 {
		return liveness.DefaultValidity
	}
	return time.Duration(h.Observation.ValidForSeconds) * time.Second
}

// until returns the remaining time, but at least a moment; zero for a zero time.
func until(at, now time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(now), time.Millisecond)
}
