package outbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const (
	// doubtful is the number of rows that may be in the stream already when a relay starts, or
	// after a round that failed: those that another relay had in flight, the lowest rows of
	// its window, between rows that were committed since.
	doubtful   = 2 * window
	askTimeout = 2 * time.Second
	// settledFor is how long a read of the stream's contents stays valid. It is far less than the
	// stream's duplicate window: a relay that pauses for longer reads again.
	settledFor = time.Minute
)

// settle removes rows whose events are in the stream, and returns the others. The stream
// drops an event that it received within its duplicate window, the last minutes; settle
// covers events that were sent earlier: by a relay that crashed between acknowledgement and
// removal, or before an outage.
//
// Events of one object are stored in the order of their ids. So all ids up to that of the
// last event in the stream are there, unless the database was replaced and counts from the
// beginning: then the rows were committed later than that event.
//
// While the stream does not answer, nothing is sent: a repeated event would be a new one to
// readers that track their position in the stream.
func (r *Relay) settle(ctx context.Context, rows []*row) ([]*row, error) {
	if r.doubt <= 0 {
		return rows, nil
	}
	last := map[string]*contract.Change{}
	var rest []*row
	var done []int64
	for _, o := range rows {
		change, asked := last[o.key()]
		if !asked {
			var err error
			if change, err = r.last(ctx, o); err != nil {
				r.cfg.Metrics.Errors.WithLabelValues("publish", class(err)).Inc()
				return nil, fmt.Errorf("ask the stream for the last events: %w", err)
			}
			last[o.key()] = change
		}
		if change != nil && o.id <= change.OutboxID && !o.committedAt.After(change.CommittedAt) {
			done = append(done, o.id)
			continue
		}
		rest = append(rest, o)
	}
	r.doubt -= len(rows)
	if err := r.remove(ctx, done); err != nil {
		return nil, err
	}
	if len(done) > 0 {
		r.cfg.Log.Info("Removed change events that the stream had already", "events", len(done))
	}
	return rest, nil
}

// last returns the last event of the row's object in the stream, or nil when there is none.
func (r *Relay) last(ctx context.Context, o *row) (*contract.Change, error) {
	subject, err := r.subject(o)
	if err != nil {
		return nil, nil //nolint:nilnil // a row that cannot be sent was not sent; see send
	}
	filter := subject[:strings.LastIndexByte(subject, '.')] + ".*"
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	reply, err := r.cfg.JetStream.Conn().RequestWithContext(ctx, "$JS.API.DIRECT.GET."+contract.StreamChanges+"."+filter, nil)
	if err != nil {
		return nil, err
	}
	switch status := reply.Header.Get("Status"); {
	case status == "404":
		return nil, nil //nolint:nilnil // no event of this object
	case status != "":
		return nil, errors.New(status + " " + reply.Header.Get("Description"))
	}
	_, change, err := contract.Decode[contract.Change](reply.Data)
	if err != nil {
		r.cfg.Log.Error(err, "Did not understand the last event of an object", "filter", filter)
		return nil, nil //nolint:nilnil // not one of ours
	}
	return &change, nil
}
