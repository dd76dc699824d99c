package bus

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus/internal/streamreset"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Backoff between attempts: doubled from minBackoff to maxBackoff, each time shortened by
// up to half at random, so that many clients do not reconnect at the same moment.
const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 10 * time.Second
)

func backoff(failures int) time.Duration {
	d := maxBackoff
	if failures < 8 {
		d = min(maxBackoff, minBackoff<<max(0, failures-1))
	}
	return d/2 + rand.N(d/2) //nolint:gosec // spreads load, guards nothing
}

// sharedBackoff is the backoff of the whole publisher while the failure is not specific to one
// subject: at most one attempt at a time, at increasing intervals.
type sharedBackoff struct {
	failures int
	until    time.Time
}

func (b *sharedBackoff) limit() int {
	if b.failures > 0 {
		return 1
	}
	return maxInFlight
}

// recordFailure counts one failure for all that were in flight together.
func (b *sharedBackoff) recordFailure(now time.Time) {
	if now.Before(b.until) {
		return
	}
	b.failures++
	b.until = now.Add(backoff(b.failures))
}

// send publishes the newest message of a subject once.
func (p *Publisher) send(ctx context.Context, e *entry) {
	message, err := p.nextMessage(e)
	if err != nil {
		p.handleBuildError(e, err)
		return
	}
	before := p.stream.Mark()
	// Wait for the acknowledgment of an in-flight message even if Run ends.
	sendCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	ack, err := p.conn.Publish(sendCtx, *message)
	if err != nil {
		p.handlePublishError(e, *message, err)
		return
	}
	if message.acked != nil {
		message.acked(ack.Sequence)
	}
	p.handleAck(e)
	if !ack.Duplicate && p.stream.Regressed(before, ack) {
		p.countReset()
		p.republish()
	}
}

// nextMessage returns the message to send: the newest offer, built now, or the one of the
// previous attempt.
func (p *Publisher) nextMessage(e *entry) (*Message, error) {
	p.mu.Lock()
	build := e.build
	if build == nil {
		defer p.mu.Unlock()
		return e.message, nil
	}
	failures := e.failures
	e.build, e.message, e.failures = nil, nil, 0
	p.mu.Unlock()

	m, err := build()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		if errors.Is(err, ErrNotReady) {
			e.failures = failures
			if e.build == nil {
				e.build = build
			}
		}
		return nil, err
	}
	m.Subject = e.subject
	e.message = &m
	return e.message, nil
}

// handleBuildError delays an entry whose message cannot be built yet, and drops one on any other error.
func (p *Publisher) handleBuildError(e *entry, err error) {
	if !errors.Is(err, ErrNotReady) {
		p.conn.metrics.Published.WithLabelValues(outcomeInvalid).Inc()
		p.log.Error(err, "Dropped a message: build failed", "subject", e.subject)
	}
	p.finish(e, func(now time.Time) {
		if e.build != nil {
			p.delay(e, now)
		}
	})
}

func (p *Publisher) handleAck(e *entry) {
	p.finish(e, func(time.Time) {
		e.message = nil
		if p.backoff.failures > 0 {
			p.backoff = sharedBackoff{}
			p.checkDue = true
		}
	})
}

func (p *Publisher) handlePublishError(e *entry, m Message, err error) {
	outcome := p.conn.outcomeOf(m.Subject, nil, err)
	if outcome == outcomeInvalid {
		p.log.Error(err, "Dropped an invalid message", "subject", e.subject)
	} else {
		p.log.V(1).Info("Failed to publish message, retrying", "subject", e.subject, "cause", err.Error())
	}
	if outcome == outcomeNoStream {
		p.stream.Suspect() // it may return from a backup
	}
	var api *jetstream.APIError
	p.finish(e, func(now time.Time) {
		switch {
		case outcome == outcomeInvalid:
			e.message = nil
		case errors.Is(err, ErrDenied), errors.As(err, &api) && api.Code < 500:
			p.delay(e, now)
		default:
			p.backoff.recordFailure(now)
		}
	})
}

// delay delays one entry by its own backoff. The caller holds the lock.
func (p *Publisher) delay(e *entry, now time.Time) {
	e.failures++
	e.due = now.Add(backoff(e.failures))
	e.waiting = true
	if len(p.delayed) == 0 || e.due.Before(p.nextDue) {
		p.nextDue = e.due
	}
	p.delayed = append(p.delayed, e)
}

// finish ends an attempt: update updates the entry, and finish then queues it again or,
// if it has nothing left to send, removes it.
func (p *Publisher) finish(e *entry, update func(now time.Time)) {
	now := p.conn.cfg.Clock.Now()
	p.mu.Lock()
	p.inFlight--
	e.sending = false
	update(now)
	if e.build == nil && e.message == nil {
		delete(p.entries, e.subject)
		p.conn.metrics.Outbox.Dec()
	} else {
		p.queue(e)
	}
	p.mu.Unlock()
	p.notify()
}

// checkStream checks whether the stream is still the one that stored our messages.
func (p *Publisher) checkStream(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, streamCheckTimeout)
	defer cancel()
	result, err := p.stream.Check(ctx, p.conn.js)
	if err != nil {
		p.log.V(1).Info("Failed to check stream", "stream", contract.StreamObservations, "cause", err.Error())
		p.scheduleCheck(p.conn.cfg.Clock.Now().Add(streamRecheck))
	}
	switch result {
	case streamreset.Intact:
		return
	case streamreset.Missing: // not counted, since the alert is about resets
		p.log.Info("Newest message is missing in the stream, publishing all messages again", "stream", contract.StreamObservations)
	case streamreset.Reset:
		p.countReset()
	}
	p.republish()
}

func (p *Publisher) scheduleCheck(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recheck = at
}

func (p *Publisher) countReset() {
	p.conn.metrics.Resets.Inc()
	p.log.Info("Stream was reset, publishing all messages again", "stream", contract.StreamObservations)
}

// republish calls the functions of OnReset, which offer their whole state again.
func (p *Publisher) republish() {
	p.mu.Lock()
	fs := append([]func(){}, p.onReset...)
	p.mu.Unlock()
	for _, f := range fs {
		f()
	}
}
