package statusclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"
)

// Event is one lifecycle event of the stream.
type Event struct {
	// Sequence is its sequence in the stream, after which a reader can resume.
	Sequence uint64
	Envelope contract.Event
	contract.Lifecycle
}

// Follower configures how to read the stream of events.
type Follower struct {
	Filter Filter
	// Since is the sequence to resume after; nil means from now on.
	Since *uint64
	// Clock is the clock; nil means the real one.
	Clock clock.WithTicker
	// IdleTimeout is how long a connection may deliver no data, not even a heartbeat, before it counts as broken; 0 means
	// 45 s. The server sends a heartbeat every 15 s.
	IdleTimeout time.Duration
	// MinBackoff is the delay before the first attempt to resume; it doubles up to 30 s. 0 means 1 s.
	MinBackoff time.Duration
	// Connected, if set, is called for each connection when the server has sent its first data.
	Connected func()
	// CaughtUp, if set, is called when the server has sent all events up to the start of the connection: for each position
	// that it sends after its first data. Heartbeats are positions too, so servers that send none after the replay only delay
	// the call.
	CaughtUp func()
	// OnError, if set, receives the error that ended a connection, or the error of an event that could not be decoded.
	OnError func(error)
}

const maxBackoff = 30 * time.Second

// Follow passes events to handle until the context ends, handle returns an error, or the API rejects the request; it
// returns that error. It resumes broken connections. If the server no longer has the events after Since, the error is Gone.
func (c *Client) Follow(ctx context.Context, f Follower, handle func(Event) error) error {
	f = f.withDefaults()
	last, backoff := f.Since, f.MinBackoff
	for {
		got := false
		err := c.stream(ctx, f, last, func(sequence uint64, e *Event) error {
			got = true
			if last != nil && sequence <= *last {
				return nil // the event is a duplicate
			}
			if e != nil {
				if err := handle(*e); err != nil {
					return &handlerError{err}
				}
			}
			last = &sequence
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if finalErr := final(err); finalErr != nil {
			return finalErr
		}
		f.OnError(err)
		if got {
			backoff = f.MinBackoff
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-f.Clock.After(backoff):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

func (f Follower) withDefaults() Follower {
	if f.Clock == nil {
		f.Clock = clock.RealClock{}
	}
	if f.IdleTimeout == 0 {
		f.IdleTimeout = 45 * time.Second
	}
	if f.MinBackoff == 0 {
		f.MinBackoff = time.Second
	}
	if f.OnError == nil {
		f.OnError = func(error) {}
	}
	if f.CaughtUp == nil {
		f.CaughtUp = func() {}
	}
	if f.Connected == nil {
		f.Connected = func() {}
	}
	return f
}

// handlerError is an error of handle, which ends the stream.
type handlerError struct{ error }

// final returns the error for the caller if a retry cannot succeed, or nil.
func final(err error) error {
	if handlerErr, ok := errors.AsType[*handlerError](err); ok {
		return handlerErr.error
	}
	apiErr := Refused(err)
	if apiErr == nil || apiErr.Status >= http.StatusInternalServerError || apiErr.Status == http.StatusTooManyRequests {
		return nil
	}
	return err
}

// stream reads one connection to its end; it never returns nil. A nil event only sets the position to resume from.
func (c *Client) stream(ctx context.Context, f Follower, last *uint64, handle func(sequence uint64, e *Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{"Accept": {"text/event-stream"}, "Cache-Control": {"no-store"}}
	if last != nil {
		header.Set("Last-Event-ID", strconv.FormatUint(*last, 10))
	}
	idle := f.Clock.NewTimer(f.IdleTimeout)
	defer idle.Stop()
	go func() {
		select {
		case <-ctx.Done():
		case <-idle.C():
			cancel(fmt.Errorf("no data received for %s", f.IdleTimeout))
		}
	}()
	response, err := c.request(ctx, statusapi.PathEvents, f.Filter.values(), header)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("follow events: %w", err)
	}
	defer response.Body.Close()
	first := true
	err = readFrames(response.Body, func() { idle.Reset(f.IdleTimeout) }, func(fr frame) error {
		if first {
			f.Connected()
		}
		position := fr.data == nil && !first
		first = false
		sequence, e, parseErr := parse(fr)
		if parseErr != nil {
			f.OnError(parseErr)
		}
		if sequence == nil {
			return nil
		}
		if position {
			f.CaughtUp()
		}
		return handle(*sequence, e)
	})
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("follow events: %w", cause)
	}
	return err
}

// parse parses a frame. For a frame that cannot be decoded it returns the sequence, since a retry would fail too.
func parse(fr frame) (*uint64, *Event, error) {
	sequence, err := strconv.ParseUint(fr.id, 10, 64)
	if err != nil {
		return nil, nil, fmt.Errorf("event id %q is not a sequence number", fr.id)
	}
	if fr.data == nil {
		return &sequence, nil, nil
	}
	envelope, data, err := contract.Decode[contract.Lifecycle](fr.data)
	if err != nil {
		return &sequence, nil, fmt.Errorf("event %d: %w", sequence, err)
	}
	return &sequence, &Event{Sequence: sequence, Envelope: envelope, Lifecycle: data}, nil
}
