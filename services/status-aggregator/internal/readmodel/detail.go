package readmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/registry"
)

const (
	// fetchTimeout bounds all reads from the bus for one object.
	fetchTimeout = 5 * time.Second
	// recentHistory is the part of the history that is read first.
	recentHistory = 24 * time.Hour
	// clockSkew is the maximum by which the clock of the bus may be behind that of the API server.
	clockSkew = time.Hour
)

// errUndecodable reports that the message on the bus is not a valid observation of this object.
var errUndecodable = errors.New("the latest observation on the bus cannot be read")

// fetch adds the data that is only on the bus.
func (v *View) fetch(ctx context.Context, kind registry.Kind, ref contract.Ref, created time.Time, events int, d *statusapi.ResourceDetail) error {
	if !v.cfg.Bus.Connected() {
		return ErrBusUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var historyErr, observationErr error
	d.Observation, observationErr = v.observation(ctx, kind, ref, d.Resource.Object.UID)
	d.History, d.HistoryTruncated, historyErr = v.history(ctx, ref, d.Resource.Object.UID, historyStarts(created, v.cfg.Clock.Now()), events)
	if err := errors.Join(historyErr, observationErr); err != nil {
		v.cfg.Log.V(1).Info("Failed to read from the bus", "object", ref.String(), "reason", err.Error())
		return errors.Join(historyErr, observationErr)
	}
	return nil
}

// observation returns the latest observation of this incarnation, or nil.
func (v *View) observation(ctx context.Context, kind registry.Kind, ref contract.Ref, uid string) (*contract.Observation, error) {
	subject, err := contract.ObservationSubject(ref, kind.Observer)
	if err != nil {
		return nil, err
	}
	stream, err := v.cfg.Bus.JetStream().Stream(ctx, contract.StreamObservations)
	if err != nil {
		return nil, fmt.Errorf("get stream info of %s: %w", contract.StreamObservations, err)
	}
	m, err := stream.GetLastMsgForSubject(ctx, subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", subject, err)
	case len(m.Data) == 0: // the marker of an expired message
		return nil, nil
	}
	_, o, err := contract.Decode[contract.Observation](m.Data)
	if err != nil || o.Object.Namespace != ref.Namespace || o.Object.Name != ref.Name || o.Observer.Name != kind.Observer {
		return nil, errors.Join(errUndecodable, err)
	}
	if o.Object.UID != uid {
		return nil, nil // of an earlier incarnation
	}
	return &o, nil
}

// history returns the latest events of this incarnation, oldest first, and whether there are older ones. It reads from
// each start until it has them. After an error it returns those that it read completely, which are the latest.
func (v *View) history(ctx context.Context, ref contract.Ref, uid string, starts []time.Time, limit int) ([]statusapi.HistoryEvent, bool, error) {
	out, older := []statusapi.HistoryEvent{}, false
	filter, err := contract.LifecycleFilter(ref)
	if err != nil {
		return out, older, err
	}
	stream, err := v.cfg.Bus.JetStream().Stream(ctx, contract.StreamLifecycle)
	if err != nil {
		return out, older, fmt.Errorf("get stream info of %s: %w", contract.StreamLifecycle, err)
	}
	for _, since := range starts {
		s := span{filter: filter, from: 1, to: stream.CachedInfo().State.LastSeq, since: since}
		events, more, err := latestEvents(ctx, stream, s, uid, limit)
		if err != nil {
			return out, older, fmt.Errorf("read the history of %q: %w", ref, err)
		}
		if out, older = events, more; older {
			break
		}
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("Read a history", "object", ref.String(), "events", len(out))
	return out, older, nil
}

// historyStarts returns the times from which the history of an object is read: first a recent one, since a name can have very
// many events, then that of its creation.
func historyStarts(created, now time.Time) []time.Time {
	created, recent := created.Add(-clockSkew), now.Add(-recentHistory)
	if recent.After(created) {
		return []time.Time{recent, created}
	}
	return []time.Time{created}
}

// latestEvents returns the latest events of an incarnation in a span, oldest first, and whether the span has older ones.
func latestEvents(ctx context.Context, stream jetstream.Stream, s span, uid string, limit int) (out []statusapi.HistoryEvent, older bool, err error) {
	out = []statusapi.HistoryEvent{}
	err = replay(ctx, stream, s, func(e Event) error {
		if e.Lifecycle.Object.UID != uid {
			return nil // of an earlier incarnation
		}
		if len(out) == limit {
			out, older = out[1:], true
		}
		out = append(out, statusapi.HistoryEvent{Sequence: e.Sequence, ID: e.ID, Time: e.Time, Lifecycle: e.Lifecycle})
		return nil
	})
	return out, older, err
}
