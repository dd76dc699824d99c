package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/contract/statusapi"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/readmodel"
)

const (
	// heartbeat is the interval of heartbeats on a stream. The caller's token and
	// permissions are checked again at the same interval.
	heartbeat = 15 * time.Second
	// writeTimeout is how long a reader may block a write.
	writeTimeout = 10 * time.Second
	// reconnectMillis is the delay before a reader reconnects.
	reconnectMillis = 3000
)

// Causes for the end of a stream.
const (
	endClient     = "client"
	endSlow       = "slow"
	endBus        = "bus"
	endPermission = "rights"
	endShutdown   = "shutdown"
)

// events streams the lifecycle events that the caller may read.
func (a *handlers) events(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, statusapi.ParamNamespace, statusapi.ParamKind, statusapi.ParamName, statusapi.ParamSince)
	if err != nil {
		return err
	}
	f, err := filter(a.kinds, values)
	if err != nil {
		return err
	}
	after, err := sequence(r, values)
	if err != nil {
		return err
	}
	if err := a.scope(r.Context(), callerOf(r.Context()), f); err != nil {
		return err
	}
	s, err := a.hub.Subscribe(r.Context(), f, after)
	if err != nil {
		return err
	}
	defer s.Close()
	header := w.Header()
	header.Set("Content-Type", contentStream)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Accel-Buffering", "no") // prevents buffering in proxies
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	a.metrics.streams.Inc()
	defer a.metrics.streams.Dec()
	out := &stream{w: w, control: http.NewResponseController(w), clock: a.clock, timeout: writeTimeout, position: s.Head}
	if after != nil {
		out.position = *after
	}
	a.metrics.ended.WithLabelValues(a.serve(r.Context(), out, s, f)).Inc()
	if err := out.arm(); err != nil { // bounds the end of the response
		logr.FromContextOrDiscard(r.Context()).V(1).Info("Failed to set the deadline of a stream", "reason", err.Error())
	}
	return nil
}

// serve replays missed events, then sends live ones, and returns why the stream ended.
func (a *handlers) serve(ctx context.Context, out *stream, s *readmodel.Subscription, f readmodel.Filter) string {
	if err := out.text(fmt.Sprintf("retry: %d\nid: %d\n\n", reconnectMillis, out.position)); err != nil {
		return endClient
	}
	user := callerOf(ctx)
	send := func(e readmodel.Event) error { return a.deliver(ctx, out, user, e) }
	if err := s.Replay(ctx, out.position, send); err != nil {
		return cause(ctx, err)
	}
	// The position reports the end of the replay to readers that do not follow live events.
	out.position = max(out.position, s.Head)
	if err := out.text(fmt.Sprintf("id: %d\n\n", out.position)); err != nil {
		return cause(ctx, err)
	}
	ticker := a.clock.NewTicker(a.heartbeat)
	defer ticker.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return endClient
		case <-a.stopping:
			return endShutdown
		case <-s.Done():
			return cause(ctx, s.Cause())
		case e := <-s.Events():
			err = send(e)
		case <-ticker.C():
			err = a.sendHeartbeat(ctx, out, s, user, f)
		}
		if err != nil {
			return cause(ctx, err)
		}
	}
}

// errPermission reports that the caller lost the permission to read, or that it cannot be checked.
var errPermission = errors.New("permission to read was revoked")

func cause(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, readmodel.ErrSlowConsumer), errors.Is(err, os.ErrDeadlineExceeded): // before ctx: a failed write cancels it
		return endSlow
	case ctx.Err() != nil, errors.Is(err, errWrite):
		return endClient
	case errors.Is(err, errPermission):
		return endPermission
	}
	return endBus
}

// deliver sends an event that the caller may read, and skips one that they may not.
func (a *handlers) deliver(ctx context.Context, out *stream, user caller, e readmodel.Event) error {
	if e.Sequence <= out.position {
		return nil
	}
	ok, err := a.mayList(ctx, user, scope{namespace: e.Ref.Namespace, kind: e.Ref.Kind})
	if err != nil {
		return errors.Join(errPermission, err)
	}
	if !ok {
		out.position = e.Sequence
		return nil
	}
	if err := out.event(e); err != nil {
		return err
	}
	a.metrics.events.Inc()
	return nil
}

// sendHeartbeat checks whether the caller may still read, and sends a heartbeat with the
// position to resume from.
func (a *handlers) sendHeartbeat(ctx context.Context, out *stream, s *readmodel.Subscription, user caller, f readmodel.Filter) error {
	if err := errors.Join(user.authenticate(ctx), a.scope(ctx, user, f)); err != nil {
		return errors.Join(errPermission, err)
	}
	if position, ok := s.Position(); ok {
		out.position = max(out.position, position)
	}
	return out.text(fmt.Sprintf(": heartbeat\nid: %d\n\n", out.position))
}

// stream writes server-sent events.
type stream struct {
	w        http.ResponseWriter
	control  *http.ResponseController
	clock    clock.PassiveClock
	timeout  time.Duration // of one write
	position uint64        // last id that the reader received or skipped
}

// errWrite reports that writing to the reader failed.
var errWrite = errors.New("write to the reader")

func (s *stream) event(e readmodel.Event) error {
	if err := s.text(fmt.Sprintf("id: %d\ndata: %s\n\n", e.Sequence, e.Data)); err != nil {
		return err
	}
	s.position = e.Sequence
	return nil
}

// text writes with a deadline, and clears it: HTTP/2 resets a stream at its deadline even if nothing is being written.
func (s *stream) text(text string) error {
	err := s.arm()
	if err == nil {
		_, err = s.w.Write([]byte(text))
	}
	if err == nil {
		err = s.control.Flush()
	}
	if err == nil {
		err = s.control.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		return errors.Join(errWrite, err)
	}
	return nil
}

// arm sets the deadline of the next write.
func (s *stream) arm() error { return s.control.SetWriteDeadline(s.clock.Now().Add(s.timeout)) }
