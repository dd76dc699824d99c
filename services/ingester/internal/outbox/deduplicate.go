package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const (
	lastEventTimeout = 2 * time.Second
	// streamReadValidity is how long a read of the stream's last events is valid. It is far less
	// than the stream's duplicate window: a relay that pauses for longer reads again.
	streamReadValidity = time.Minute
)

// deduplicate removes all rows of a kind whose events are in the stream. The stream deduplicates events
// within its duplicate window, the last minutes; deduplicate covers events that were published
// earlier: by a relay that crashed between acknowledgment and removal, before an outage, or before
// the database was restored from a backup. The first rows of a backup may have left the stream, and
// any number of others between those that are there, so all of them are looked up before one is
// published: from then on the last event would be one of theirs.
//
// While the stream is unavailable, nothing is published: readers that track their position in
// the stream would take a repeated event for a new one.
func (r *Relay) deduplicate(ctx context.Context, kind string) error {
	if err := r.locate(ctx, kind); err != nil {
		r.cfg.Metrics.Errors.WithLabelValues("publish", class(err)).Inc()
		return fmt.Errorf("get last event from the stream: %w", err)
	}
	p, remaining := r.position(kind), 0
	for after := int64(0); ; {
		page, err := r.readKind(ctx, kind, after, window)
		if err != nil {
			return err
		}
		remaining += len(page)
		if len(page) > 0 {
			after = page[len(page)-1].id
		}
		covered := slices.DeleteFunc(page, func(o *row) bool { return !p.covers(o) })
		if len(covered) == 0 {
			break
		}
		removed, err := r.removeStored(ctx, covered)
		if err != nil {
			return err
		}
		remaining -= removed
	}
	// If no row remains, none is published, and read would not show that the ids of later rows go back.
	p.known, p.read, p.latest = remaining > 0, 0, time.Time{}
	return nil
}

// removeStored removes those of the rows whose events are in the stream, and returns their number.
//
// Events of one object are stored in the order of their ids, so the stream has all ids up to
// that of the last event, unless the database was replaced and its ids restarted: then the
// rows were committed later than that event.
func (r *Relay) removeStored(ctx context.Context, rows []*row) (int, error) {
	last := map[string]*contract.Change{}
	var done []int64
	for _, o := range rows {
		change, cached := last[o.key()]
		if !cached {
			var err error
			if change, err = r.lastEvent(ctx, o); err != nil {
				r.cfg.Metrics.Errors.WithLabelValues("publish", class(err)).Inc()
				return 0, fmt.Errorf("get last events from the stream: %w", err)
			}
			last[o.key()] = change
		}
		switch {
		case change == nil:
		case o.id <= change.OutboxID && !o.committedAt.After(change.CommittedAt):
			done = append(done, o.id)
		case o.id > change.OutboxID && o.precedes(change.CommittedAt): // committed late
			if err := r.setTime(ctx, []*row{o}, change.CommittedAt); err != nil {
				return 0, err
			}
		}
	}
	if err := r.remove(ctx, done); err != nil {
		return 0, err
	}
	if len(done) > 0 {
		r.cfg.Log.Info("Removed change events that were already in the stream", "events", len(done))
	}
	return len(done), nil
}

// lastEvent returns the last event of the row's object in the stream, or nil without one.
func (r *Relay) lastEvent(ctx context.Context, o *row) (*contract.Change, error) {
	if _, err := r.subject(o); err != nil {
		return nil, nil //nolint:nilerr // a row that cannot be published is not in the stream; send drops it
	}
	change, err := LastEvent(ctx, r.cfg.JetStream, r.ref(o))
	if errors.Is(err, ErrNotAnEvent) {
		r.cfg.Log.Error(err, "Failed to decode the last event of an object", "object", r.ref(o))
		return nil, nil
	}
	return change, err
}

// ErrNotAnEvent is the error of a message in the stream that cannot be decoded as a change event.
var ErrNotAnEvent = errors.New("not an event of the ingester")

// LastEvent returns the last change event of a name in the stream, or nil without one. The error is
// [ErrNotAnEvent], or the stream cannot be read.
func LastEvent(ctx context.Context, js jetstream.JetStream, ref contract.Ref) (*contract.Change, error) {
	subject, err := contract.ChangeSubject(ref, contract.ChangeDeleted)
	if err != nil {
		return nil, err
	}
	return lastOf(ctx, js, subject[:strings.LastIndexByte(subject, '.')]+".*")
}

// lastOf returns the last change event of the subjects that match the filter.
func lastOf(ctx context.Context, js jetstream.JetStream, filter string) (*contract.Change, error) {
	ctx, cancel := context.WithTimeout(ctx, lastEventTimeout)
	defer cancel()
	reply, err := js.Conn().RequestWithContext(ctx, "$JS.API.DIRECT.GET."+contract.StreamChanges+"."+filter, nil)
	if err != nil {
		return nil, err
	}
	switch status := reply.Header.Get("Status"); {
	case status == "404":
		return nil, nil // no event of this object
	case status != "":
		return nil, errors.New(status + " " + reply.Header.Get("Description"))
	}
	_, change, err := contract.Decode[contract.Change](reply.Data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotAnEvent, err)
	}
	return &change, nil
}
