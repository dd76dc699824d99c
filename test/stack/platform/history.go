package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// History is the content of the lifecycle stream, in order.
type History struct {
	Events []contract.Lifecycle
	IDs    map[string]int // number of events in the stream by id
}

// Lifecycle reads the whole lifecycle stream.
func (p *Platform) Lifecycle(ctx context.Context) (History, error) {
	h := History{IDs: map[string]int{}}
	err := p.readStream(ctx, contract.StreamLifecycle, func(message []byte) error {
		event, data, err := contract.Decode[contract.Lifecycle](message)
		if err != nil {
			return err
		}
		h.IDs[event.ID]++
		h.Events = append(h.Events, data)
		return nil
	})
	return h, err
}

// Changes reads the whole stream of change events of the ingester.
func (p *Platform) Changes(ctx context.Context) ([]contract.Change, error) {
	var out []contract.Change
	err := p.readStream(ctx, contract.StreamChanges, func(message []byte) error {
		_, data, err := contract.Decode[contract.Change](message)
		out = append(out, data)
		return err
	})
	return out, err
}

func (p *Platform) readStream(ctx context.Context, name string, each func([]byte) error) error {
	stream, err := p.JS.Stream(ctx, name)
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("stream %s: %w", name, err)
	}
	if info.State.Msgs == 0 {
		return nil
	}
	consumer, err := p.JS.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("read stream %s: %w", name, err)
	}
	for {
		msg, err := consumer.Next(jetstream.FetchMaxWait(10 * time.Second))
		if err != nil {
			return fmt.Errorf("read stream %s: %w", name, err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("read stream %s: %w", name, err)
		}
		if len(msg.Data()) > 0 { // an empty body marks a deletion
			if err := each(msg.Data()); err != nil {
				return fmt.Errorf("message %d of stream %s: %w", meta.Sequence.Stream, name, err)
			}
		}
		if meta.NumPending == 0 {
			return nil
		}
	}
}

// Of returns the events of one object by kind and name.
func (h History) Of(kind, name string) []contract.Lifecycle {
	var out []contract.Lifecycle
	for _, e := range h.Events {
		if e.Object.Kind == kind && e.Object.Name == name {
			out = append(out, e)
		}
	}
	return out
}

// Phases returns the phases that the object entered, from its phase events.
func (h History) Phases(kind, name string) []string {
	var out []string
	for _, e := range h.Of(kind, name) {
		if e.Event == contract.EventPhase {
			out = append(out, e.Phase.To)
		}
	}
	return out
}

// Check returns the violations in the history as a whole: a duplicate id,
// or a transition that is missing without a gap event.
func (h History) Check() error {
	var problems []error
	for id, n := range h.IDs {
		if n > 1 {
			problems = append(problems, fmt.Errorf("id %s is %d times in the stream", id, n))
		}
	}
	last := map[string]int64{}
	for _, e := range h.Events {
		if e.Event != contract.EventPhase {
			continue
		}
		before, seen := last[e.Object.UID]
		if seen && e.Phase.Seq != before+1 && !e.Gap {
			problems = append(problems, fmt.Errorf("%s %s: transition %d follows %d", e.Object.Kind, e.Object.Name, e.Phase.Seq, before))
		}
		last[e.Object.UID] = e.Phase.Seq
	}
	return errors.Join(problems...)
}

// Wrong returns the failures that the history reports for an object after it became available, or that it never became
// available. For an object without changes it must be empty, even after failures of services and of the bus.
func (h History) Wrong(kind, name string) []string {
	available := false
	var out []string
	for _, e := range h.Of(kind, name) {
		switch e.Event {
		case contract.EventAvailable:
			available = true
		case contract.EventSnapshot:
			available = available || isAvailable(e.Conditions)
		case contract.EventUnavailable, contract.EventDegraded, contract.EventUnknown, contract.EventGap:
			if available {
				out = append(out, fmt.Sprintf("%s %+v %s", e.Event, e.Condition, e.Message))
			}
		default: // no failure
		}
	}
	if !available {
		out = append(out, "no event reports that it became available")
	}
	return out
}

func isAvailable(conditions []contract.Condition) bool {
	return slices.ContainsFunc(conditions, func(c contract.Condition) bool {
		return c.Type == "Available" && c.Status == "True"
	})
}
