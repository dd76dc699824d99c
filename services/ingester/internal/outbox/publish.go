package outbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var errNotConnected = errors.New("bus is not connected")

// observer names the ingester in the envelope.
const observer = "ingester"

// publish publishes rows in batches: a batch has at most one event of each object, and the
// next one begins once all of it is acknowledged. Acknowledged rows are removed after every
// batch; a failed event ends publish, so that no later event overtakes it, and a denied one holds
// its kind. checkedAt is the time of the last deduplication.
func (r *Relay) publish(ctx context.Context, rows []*row, checkedAt time.Time) error {
	if err := r.correctTimes(ctx, rows); err != nil {
		return err
	}
	for len(rows) > 0 {
		// If rows arrive faster than they are published, drain does not return. Those of rows that this drops are
		// still published. It may take minutes, so the time of the last deduplication is checked afterwards.
		r.measureIfDue(ctx)
		if r.cfg.Clock.Since(checkedAt) > streamReadValidity {
			r.forget()
			return nil
		}
		batch, remaining := split(rows)
		done, err := r.send(ctx, batch)
		// Acknowledged rows are removed even if other rows failed or the process is stopping.
		removeErr := r.removeDetached(ctx, done)
		if err != nil {
			r.cfg.Metrics.Errors.WithLabelValues("publish", class(err)).Inc()
		}
		if err = errors.Join(err, removeErr); err != nil {
			r.forget()
			return err
		}
		rows = r.withoutHeld(remaining)
	}
	return nil
}

func split(rows []*row) (batch, remaining []*row) {
	seen := map[string]bool{}
	for _, o := range rows {
		if seen[o.key()] {
			remaining = append(remaining, o)
			continue
		}
		seen[o.key()] = true
		batch = append(batch, o)
	}
	return batch, remaining
}

// send publishes one batch and returns the ids of the rows to remove.
func (r *Relay) send(ctx context.Context, batch []*row) (done []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, ackTimeout)
	defer cancel()
	type pendingAck struct {
		row    *row
		future jetstream.PubAckFuture
		span   trace.Span
	}
	var pending []pendingAck
	fail := func(cause error) { // keep the first error of a batch
		if err == nil {
			err = fmt.Errorf("publish change event: %w", cause)
		}
	}
	for _, o := range batch {
		msg, buildErr := r.message(o)
		if buildErr != nil {
			// The row can never be published, and would block all others permanently.
			r.cfg.Metrics.Errors.WithLabelValues("publish", "malformed").Inc()
			r.cfg.Log.Error(buildErr, "Dropped a malformed change event", "id", o.id, "kind", o.kind, "namespace", o.namespace,
				"name", o.name, "uid", o.uid, "resourceVersion", o.resVersion, "operation", o.operation)
			done = append(done, o.id)
			continue
		}
		_, span := bus.StartPublish(ctx, msg)
		future, sendErr := r.cfg.JetStream.PublishMsgAsync(msg)
		if sendErr != nil {
			bus.EndPublish(span, class(sendErr), sendErr)
			fail(sendErr)
			break
		}
		pending = append(pending, pendingAck{o, future, span})
	}
	for _, f := range pending {
		ackErr := r.awaitAck(ctx, f.future)
		if errors.Is(ackErr, bus.ErrDenied) {
			bus.EndPublish(f.span, "denied", ackErr)
			r.hold(f.row, f.future.Msg().Subject)
			continue
		}
		if ackErr != nil {
			bus.EndPublish(f.span, class(ackErr), ackErr)
			fail(ackErr)
			continue
		}
		bus.EndPublish(f.span, "acked", nil)
		r.cfg.Metrics.Published.Inc()
		done = append(done, f.row.id)
	}
	return done, err
}

// awaitAck waits for the acknowledgment of the stream. One that has arrived counts, also after the timeout. A denied message
// has no acknowledgment: the error is bus.ErrDenied.
func (r *Relay) awaitAck(ctx context.Context, future jetstream.PubAckFuture) error {
	for {
		select {
		case <-future.Ok():
			return nil
		default:
		}
		if r.cfg.Denied(future.Msg().Subject) {
			return bus.ErrDenied
		}
		select {
		case <-future.Ok():
			return nil
		case err := <-future.Err():
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-r.cfg.Clock.After(denialInterval):
		}
	}
}

func class(err error) string {
	switch {
	case errors.Is(err, errNotConnected), errors.Is(err, nats.ErrDisconnected), errors.Is(err, nats.ErrConnectionClosed):
		return "disconnected"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, jetstream.ErrAsyncPublishTimeout):
		return "timeout"
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrNoResponders):
		return "no_stream"
	}
	return "other"
}

func (r *Relay) ref(o *row) contract.Ref {
	return contract.Ref{Cluster: r.cfg.Cluster, Namespace: o.namespace, Kind: contract.Kind(o.kind), Name: o.name}
}

func (r *Relay) subject(o *row) (string, error) {
	return contract.ChangeSubject(r.ref(o), contract.ChangeOperation(o.operation))
}

// sequence orders the events of an object by commit time and id. Both are stored, so an event
// has the same sequence whenever it is published, and the events of a replaced database, whose
// ids restarted, follow those of the previous one. The commit time is from the clock of the database,
// or from [Relay.correctTimes] if that clock went back.
func sequence(o *row) string {
	return contract.Sequence(o.committedAt.UnixMilli(), uint64(o.id)) //nolint:gosec // ids are positive
}

// message returns the CloudEvents message of a row.
func (r *Relay) message(o *row) (*nats.Msg, error) {
	gvk, ok := contract.Lookup(contract.Kind(o.kind))
	if !ok {
		return nil, fmt.Errorf("kind %q not found in the contract", o.kind)
	}
	subject, err := r.subject(o)
	if err != nil {
		return nil, err
	}
	// The number of the row repeats after a restore of an older database, and the stream drops events with a known id.
	order := sequence(o)
	id := o.uid + "." + order
	body, err := contract.Encode(contract.Event{
		ID: id, Source: contract.Source(r.cfg.Cluster, observer), Subject: o.namespace + "/" + o.name, Time: o.committedAt,
		Sequence: order,
	}, contract.Change{
		Object: contract.Object{
			GroupVersionKind: gvk, Namespace: o.namespace, Name: o.name, UID: o.uid,
			Generation: o.generation, ResourceVersion: strconv.FormatInt(o.resVersion, 10),
		},
		Operation: contract.ChangeOperation(o.operation), OutboxID: o.id, CommittedAt: o.committedAt.UTC().Truncate(time.Microsecond),
	})
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{
		contract.HeaderContentType: {contract.ContentType},
		contract.HeaderMsgID:       {id},
	}}
	if o.traceParent != "" {
		msg.Header[contract.HeaderTraceParent] = []string{o.traceParent}
	}
	return msg, nil
}
