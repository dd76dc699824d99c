package status

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
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/model"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/silence"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/watch"
)

const (
	// staleRetry is the safety net behind the event of a change that our write lost against.
	staleRetry = time.Second
	// refusedRetry is the pause after a write that the API server will refuse again until
	// somebody else acts. Such a change is an event of its own.
	refusedRetry = 30 * time.Second
)

// object is the state of one reconcile.
type object struct {
	ref    contract.Ref
	now    time.Time
	kind   registry.Kind
	live   watch.Object
	record *history.Record
	// held: nothing new is said, what the object carries stays.
	held   bool
	folded conditions.Result
	entry  contract.StatusEntry
	heard  *model.Heard // what was decided from; nil: nothing
	span   trace.Span   // nil while nothing new was said
}

// known is what was said last of the incarnation that lives.
func (s *object) known() *contract.StatusEntry {
	if s.record.Entry.Object.UID != string(s.live.GetUID()) {
		return nil
	}
	return &s.record.Entry
}

func (c *Controller) guard(_ context.Context, s *object) (steps.Result, error) {
	kind, managed := c.cfg.Kinds.Lookup(s.ref.Kind)
	s.kind = kind
	return steps.Result{Stop: !managed || !c.cfg.Permitted()}, nil
}

// load reads the object and its entry, and sends what the entry still owes.
func (c *Controller) load(ctx context.Context, s *object) (steps.Result, error) {
	heard := c.cfg.Model.Get(s.ref).Newest() // before the question whether the object lives
	live, err := c.cfg.Watcher.Get(ctx, s.kind, s.ref)
	switch {
	case errors.Is(err, watch.ErrGone):
		return steps.Result{Stop: true}, c.end(ctx, s, heard)
	case errors.Is(err, watch.ErrLagging):
		return steps.Result{Stop: true}, nil // its event will come
	case err != nil:
		return steps.Result{}, err
	}
	if c.lagging(s.ref, live.GetResourceVersion()) {
		return steps.Result{Stop: true, Requeue: staleRetry}, nil
	}
	s.live = live
	if s.record, err = c.cfg.History.Load(ctx, s.ref); err != nil {
		return steps.Result{}, err
	}
	return steps.Result{}, c.cfg.History.Flush(ctx, s.ref)
}

// fold decides what to say.
func (c *Controller) fold(_ context.Context, s *object) (steps.Result, error) {
	f := c.facts(s)
	s.heard = f.heard
	d := decide(f)
	result := steps.Result{Requeue: until(d.again, s.now)}
	s.held = d.hold
	if d.hold {
		known := s.known()
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
			Previous:   previous(f.present, s.known()),
			Memory:     s.record.Memory,
			WithReady:  s.kind.WithReady,
		}
		in.Observation, in.Freshness = evidence(f, d.freshness, s.kind.Observer)
		s.folded = conditions.Fold(in)
		// All other types are published at once.
		c.cfg.Metrics.Held(s.ref, conditions.TypeDegraded, !s.folded.Next.IsZero())
		s.entry = said(s, f.heard, in.Freshness)
		result.Requeue = steps.Sooner(result.Requeue, until(s.folded.Next, s.now))
	}
	s.entry.Object = s.live.Identity(s.kind)
	s.entry.Phase = s.live.Phase
	s.entry.UpdatedAt = s.now.UTC()
	return result, nil
}

// facts gathers what a decision is made from.
func (c *Controller) facts(s *object) facts {
	f := facts{now: s.now, entry: s.known(), present: ours(s.live.Conditions, s.kind.WithReady)}
	verdict, end := c.cfg.Silence.Judge(s.kind.Observer, s.now)
	if verdict == silence.Speaking && !s.now.Before(end) {
		verdict = silence.Unsure // its time is over, and nobody has looked yet whether it is silent
	}
	f.verdict = verdict
	expired := func(epoch int64, validity time.Duration) bool {
		over, at := c.cfg.Silence.EpochExpired(s.kind.Observer, epoch, validity, s.now)
		if !over {
			f.formerAlive = at
		}
		return over
	}
	heard, _, ok := c.cfg.Model.Get(s.ref).Pick(string(s.live.GetUID()), func(h model.Heard) bool {
		return expired(h.Observation.Epoch, validity(h))
	})
	if !ok {
		f.waitingSince = c.waitingSince(s.ref, s.now)
		return f
	}
	f.heard = &heard
	if behind(f) {
		f.waitingSince = c.waitingSince(s.ref, s.now)
	} else {
		c.heardOf(s.ref)
	}
	c.cfg.Metrics.Observed(s.ref, heard.StoredAt)
	if p := provenance(f); p != nil && p.Epoch > heard.Observation.Epoch {
		expired(p.Epoch, validity(heard))
	}
	return f
}

// phases publishes the phase changes that the object's status holds.
func (c *Controller) phases(ctx context.Context, s *object) (steps.Result, error) {
	if history.Newest(s.live.Transitions) > s.record.Entry.LastTransitionSeq {
		ctx = s.saying(ctx)
	}
	last, err := c.cfg.History.Phases(ctx, s.ref, s.entry.Object, s.live.Transitions)
	if errors.Is(err, history.ErrWentBack) {
		return c.wentBack(ctx, s)
	}
	s.entry.LastTransitionSeq = last
	return steps.Result{}, err
}

// wentBack tells a cache that lags behind from a cluster that was restored from a
// backup: the API server knows. In the second case the entry goes back too, which
// is told as a gap.
func (c *Controller) wentBack(ctx context.Context, s *object) (steps.Result, error) {
	live, err := c.cfg.Watcher.Live(ctx, s.kind, s.ref)
	switch {
	case errors.Is(err, watch.ErrGone) || err == nil && live.GetResourceVersion() != s.live.GetResourceVersion():
		return steps.Result{Stop: true, Requeue: staleRetry}, nil
	case err != nil:
		return steps.Result{}, err
	}
	s.entry.LastTransitionSeq = history.Newest(s.live.Transitions)
	return steps.Result{}, nil
}

// record writes the entry when it says something new.
func (c *Controller) record(ctx context.Context, s *object) (steps.Result, error) {
	memory := s.folded.Memory
	if s.held {
		memory = s.record.Memory
	}
	same, err := sameEntry(s.record.Entry, s.entry)
	if err != nil {
		return steps.Result{}, err
	}
	remembered, err := sameMemory(s.record.Memory, memory)
	if err != nil || same && remembered && s.record.Known() {
		return steps.Result{}, err
	}
	s.record, err = c.cfg.History.Put(s.saying(ctx), s.ref, s.entry, memory)
	if errors.Is(err, history.ErrConflict) {
		return steps.Result{Stop: true, Requeue: firstRetry}, nil // what we planned is void
	}
	return steps.Result{}, err
}

// events publishes what the entry owes.
func (c *Controller) events(ctx context.Context, s *object) (steps.Result, error) {
	return steps.Result{Stop: s.held}, c.cfg.History.Flush(s.within(ctx), s.ref)
}

// write applies the conditions to the object, if they differ and we still may.
func (c *Controller) write(ctx context.Context, s *object) (steps.Result, error) {
	if !c.cfg.Permitted() {
		return steps.Result{Stop: true}, nil
	}
	before := s.live.GetResourceVersion()
	changed, err := c.cfg.Writer.ApplyConditions(s.within(ctx), s.live.Unstructured, s.folded.Conditions)
	switch {
	case errors.Is(err, ownedstatus.ErrStale):
		c.cfg.Metrics.Conflicts.WithLabelValues("status").Inc()
		return steps.Result{Requeue: staleRetry}, nil
	case apierrors.IsNotFound(err):
		return steps.Result{}, nil // its event will come
	case apierrors.IsInvalid(err):
		// A schema may require status fields that the operator has not written yet.
		c.cfg.Metrics.Writes.WithLabelValues("refused").Inc()
		logr.FromContextOrDiscard(ctx).Info("Conditions were refused", "object", s.ref.String(), "reason", err.Error())
		return steps.Result{Requeue: refusedRetry}, nil
	case err != nil:
		return steps.Result{}, err
	case !changed:
		c.cfg.Metrics.Writes.WithLabelValues("unchanged").Inc()
		return steps.Result{}, nil
	}
	c.cfg.Metrics.Writes.WithLabelValues("written").Inc()
	s.saying(ctx)
	c.wrote(s.ref, before)
	logr.FromContextOrDiscard(ctx).V(1).Info("Wrote conditions", "object", s.ref.String())
	return steps.Result{}, nil
}

// said makes the entry of what was folded. What is not fresh stands on what was said before, if anything was.
func said(s *object, heard *model.Heard, freshness conditions.Freshness) contract.StatusEntry {
	e := contract.StatusEntry{Conditions: toContract(s.folded.Conditions)}
	if known := s.known(); known != nil && known.Provenance != nil && freshness != conditions.Fresh {
		before := *known.Provenance
		before.Held = nil // nothing is about to be said of an object that is not seen
		e.Provenance, e.DeployedVersion = &before, known.DeployedVersion
		return e
	}
	if heard == nil {
		return e
	}
	o := heard.Observation
	e.DeployedVersion = o.DeployedVersion
	e.Provenance = &contract.Provenance{
		Observer: o.Observer, Epoch: o.Epoch, Seq: o.Seq,
		StreamSequence: heard.StreamSequence, ReceivedAt: heard.ReceivedAt.UTC(), Evidence: s.folded.Evidence,
	}
	if held := s.folded.Held(); held != nil {
		e.Provenance.Held = &contract.Held{
			Type: conditions.TypeDegraded, Status: string(held.Status), Since: held.Since.UTC(), Until: held.Until.UTC(),
		}
	}
	return e
}

func validity(h model.Heard) time.Duration {
	if h.Observation.ValidForSeconds <= 0 {
		return silence.DefaultValidity
	}
	return time.Duration(h.Observation.ValidForSeconds) * time.Second
}

// until is the time left, at least a moment; zero for never.
func until(at, now time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(now), time.Millisecond)
}
