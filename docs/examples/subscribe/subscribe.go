package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// retryAfter is the delay between attempts while the server or a stream is unavailable.
const retryAfter = time.Second

type options struct {
	subject string
	since   time.Duration
}

// subscribe prints events until ctx ends. It loses no event while it is disconnected: the
// stream keeps the events, and subscribe resumes at its position.
func subscribe(ctx context.Context, nc *nats.Conn, o options, out io.Writer) error {
	name, err := streamOf(o.subject)
	if err != nil {
		return err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return fmt.Errorf("set up JetStream: %w", err)
	}
	r := reader{js: js, stream: name, subject: o.subject, out: out}
	if o.since > 0 {
		r.from = time.Now().Add(-o.since)
	}
	for ctx.Err() == nil {
		err := r.read(ctx)
		if err != nil && !nc.IsConnected() {
			err = errors.New("no NATS server answers at the address")
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(out, "# waiting for %s: %v\n", name, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
	return nil
}

// reader tracks its position in a stream.
type reader struct {
	js      jetstream.JetStream
	stream  string
	subject string
	out     io.Writer
	from    time.Time // time of the first event; zero means the next event
	next    uint64    // next sequence, once known
}

// read prints events until an error.
func (r *reader) read(ctx context.Context) error {
	stream, err := r.js.Stream(ctx, r.stream)
	if err != nil {
		return err
	}
	cfg := jetstream.OrderedConsumerConfig{FilterSubjects: []string{r.subject}}
	last := stream.CachedInfo().State.LastSeq
	if r.next > last+1 {
		r.next = 1 // the stream was re-created: its sequences start again
	}
	switch {
	case r.next == 0 && !r.from.IsZero():
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &r.from
	case r.next == 0:
		r.next = last + 1 // stored, so that events during an outage are not skipped
		fallthrough
	default:
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, r.next
	}
	consumer, err := stream.OrderedConsumer(ctx, cfg)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages()
	if err != nil {
		return err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return err
		}
		fmt.Fprintln(r.out, line(m.Data()))
		if meta, err := m.Metadata(); err == nil {
			r.next = meta.Sequence.Stream + 1
		}
	}
}

// streamOf returns the stream that holds a subject.
func streamOf(subject string) (string, error) {
	switch {
	case strings.HasPrefix(subject, contract.LifecyclePrefix+"."):
		return contract.StreamLifecycle, nil
	case strings.HasPrefix(subject, contract.ChangePrefix+"."):
		return contract.StreamChanges, nil
	}
	return "", fmt.Errorf("subject %q is neither below %s nor below %s", subject, contract.LifecyclePrefix, contract.ChangePrefix)
}

// line renders one event as text. It names and skips events of an unknown type or major
// version, as the contract requires.
func line(message []byte) string {
	e, lifecycle, err := contract.Decode[contract.Lifecycle](message)
	if err == nil {
		return strings.TrimRight(prefix(e, lifecycle.Object, string(lifecycle.Event))+" "+describe(lifecycle), " ")
	}
	if !errors.Is(err, contract.ErrUnsupportedType) {
		return "# " + err.Error()
	}
	e, change, err := contract.Decode[contract.Change](message)
	if err != nil {
		return "# " + err.Error()
	}
	return prefix(e, change.Object, string(change.Operation))
}

func prefix(e contract.Event, o contract.Object, what string) string {
	return fmt.Sprintf("%s %s %s/%s %s", e.Time.UTC().Format(time.RFC3339), o.Kind, o.Namespace, o.Name, what)
}

func describe(l contract.Lifecycle) string {
	var parts []string
	if c := l.Condition; c != nil {
		parts = append(parts, fmt.Sprintf("%s=%s %s: %s", c.Type, c.After.Status, c.After.Reason, c.After.Message))
	}
	if p := l.Phase; p != nil {
		parts = append(parts, fmt.Sprintf("%s -> %s %s", orNone(p.From), orNone(p.To), p.Reason))
	}
	for _, c := range l.Conditions {
		parts = append(parts, fmt.Sprintf("%s=%s", c.Type, c.Status))
	}
	if l.Message != "" {
		parts = append(parts, l.Message)
	}
	if l.Gap {
		parts = append(parts, "(earlier events are missing)")
	}
	return strings.TrimSpace(strings.Join(parts, "; "))
}

func orNone(phase string) string {
	if phase == "" {
		return "none"
	}
	return phase
}
