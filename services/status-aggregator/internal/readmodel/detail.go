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

// fetchTimeout bounds all reads from the bus for one object.
const fetchTimeout = 5 * time.Second

// errUndecodable reports that the message on the bus is not a valid observation of this object.
var errUndecodable = errors.New("the latest observation on the bus cannot be read")

// fetch adds the data that is only on the bus.
func (v *View) fetch(ctx context.Context, kind registry.Kind, ref contract.Ref, events int, d *statusapi.ResourceDetail) error {
	if !v.cfg.Bus.Connected() {
		return ErrBusUnavailable
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	var historyErr, observationErr error
	d.Observation, observationErr = v.observation(ctx, kind, ref, d.Resource.Object.UID)
	d.History, d.HistoryTruncated, historyErr = v.history(ctx, ref, d.Resource.Object.UID, events)
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

// history returns the latest events of this incarnation, oldest first, and whether there are older ones.
func (v *View) history(ctx context.Context, ref contract.Ref, uid string, limit int) ([]statusapi.HistoryEvent, bool, error) {
	out, older := []statusapi.HistoryEvent{}, false
	filter, err := contract.LifecycleFilter(ref)
	if err != nil {
		return out, false, err
	}
	stream, err := v.cfg.Bus.JetStream().Stream(ctx, contract.StreamLifecycle)
	if err != nil {
		return out, false, fmt.Errorf("get stream info of %s: %w", contract.StreamLifecycle, err)
	}
	err = replay(ctx, stream, span{filter: filter, from: 1, to: stream.CachedInfo().State.LastSeq}, func(e Event) error {
		if e.Lifecycle.Object.UID != uid {
			return nil // of an earlier incarnation
		}
		if len(out) == limit {
			out, older = append(out[:0], out[1:]...), true
		}
		out = append(out, statusapi.HistoryEvent{Sequence: e.Sequence, ID: e.ID, Time: e.Time, Lifecycle: e.Lifecycle})
		return nil
	})
	if err != nil {
		return out, older, fmt.Errorf("read the history of %q: %w", ref, err)
	}
	logr.FromContextOrDiscard(ctx).V(2).Info("Read a history", "object", ref.String(), "events", len(out))
	return out, older, nil
}
