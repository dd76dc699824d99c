package subscriber

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const (
	batch   = 100
	maxWait = 3 * time.Second
	// retryInterval is the pause before a retry without a server, stream or consumer.
	retryInterval = 500 * time.Millisecond
)

// Event is a received event.
type Event struct {
	ID     string
	Stream uint64 // its sequence in the stream
	Data   contract.Lifecycle

	sequence string // orders the events of an object, compared as text
}

// Subscriber keeps the events that it received. It is safe for concurrent use.
type Subscriber struct {
	now func() time.Time

	mu         sync.Mutex
	events     []Event
	bodies     map[string][]byte
	repeated   int
	problems   []error
	quietSince time.Time // time of the first empty fetch after the last event
	waiting    error
}

// Follow reads from the durable consumer with the name of the identity until ctx ends.
func Follow(ctx context.Context, a Access, now func() time.Time) (*Subscriber, error) {
	js, end, err := a.connect()
	if err != nil {
		return nil, err
	}
	s := &Subscriber{now: now, bodies: map[string][]byte{}}
	go func() {
		defer end()
		s.follow(ctx, js, a.User)
	}()
	return s, nil
}

func (s *Subscriber) follow(ctx context.Context, js jetstream.JetStream, consumer string) {
	for ctx.Err() == nil {
		err := s.read(ctx, js, consumer)
		s.mu.Lock()
		s.quietSince, s.waiting = time.Time{}, err
		s.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(retryInterval):
		}
	}
}

// read fetches events until ctx ends or a fetch fails.
func (s *Subscriber) read(ctx context.Context, js jetstream.JetStream, name string) error {
	consumer, err := js.Consumer(ctx, contract.StreamLifecycle, name)
	if err != nil {
		return fmt.Errorf("get consumer %s of %s: %w", name, contract.StreamLifecycle, err)
	}
	for ctx.Err() == nil {
		messages, err := consumer.Fetch(batch, jetstream.FetchMaxWait(maxWait))
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		n := 0
		for m := range messages.Messages() {
			n++
			if err := s.receive(m); err != nil {
				return err
			}
		}
		if err := messages.Error(); err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		s.fetched(n)
	}
	return nil
}

// receive keeps an event unless its id is known, and acknowledges it. The bus redelivers an event whose acknowledgment is lost.
func (s *Subscriber) receive(m jetstream.Msg) error {
	meta, err := m.Metadata()
	if err != nil {
		return fmt.Errorf("read event metadata: %w", err)
	}
	envelope, data, err := contract.Decode[contract.Lifecycle](m.Data())
	if err != nil {
		s.addProblem(fmt.Errorf("event %d of the stream: %w", meta.Sequence.Stream, err))
		return m.Ack()
	}
	s.mu.Lock()
	known, repeated := s.bodies[envelope.ID]
	if repeated {
		s.repeated++
	} else {
		s.bodies[envelope.ID] = envelope.Data
		s.events = append(s.events, Event{envelope.ID, meta.Sequence.Stream, data, envelope.Sequence})
	}
	s.mu.Unlock()
	if repeated && !bytes.Equal(known, envelope.Data) {
		s.addProblem(fmt.Errorf("event %s arrived with different contents: %s, then %s", envelope.ID, known, envelope.Data))
	}
	return m.Ack()
}

func (s *Subscriber) addProblem(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problems = append(s.problems, err)
}

func (s *Subscriber) fetched(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = nil
	switch {
	case n > 0:
		s.quietSince = time.Time{}
	case s.quietSince.IsZero():
		s.quietSince = s.now()
	}
}

// Events returns each event once, ordered by sequence for each object. The order of arrival can differ, since the bus
// redelivers a lost event after newer ones.
func (s *Subscriber) Events() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := slices.Clone(s.events)
	slices.SortStableFunc(events, func(a, b Event) int { return strings.Compare(a.sequence, b.sequence) })
	return events
}

// Repeated returns the number of redelivered events.
func (s *Subscriber) Repeated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.repeated
}

// Problems returns an error for the events that could not be decoded or reused the id of another event.
func (s *Subscriber) Problems() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.problems...)
}

// CheckQuiet returns nil if the last fetch found no more events, or else an error with the cause.
func (s *Subscriber) CheckQuiet() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.waiting != nil:
		return s.waiting
	case s.quietSince.IsZero():
		return errors.New("events are still arriving")
	}
	return nil
}
