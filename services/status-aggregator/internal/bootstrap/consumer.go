package bootstrap

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// consumer is the durable consumer of a tool.
type consumer struct {
	stream string
	config jetstream.ConsumerConfig
}

// consumer validates the flags of a consumer.
func (f *flags) consumer(name string) (consumer, error) {
	if _, err := contract.EncodeToken(name); err != nil || strings.Contains(name, ".") {
		return consumer{}, fmt.Errorf("consumer name %q is not a DNS label", name)
	}
	c := consumer{config: jetstream.ConsumerConfig{
		Durable:       name,
		Description:   "Made for the tool " + name,
		FilterSubject: f.filter,
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       f.ackWait,
		MaxAckPending: f.pending,
		MaxDeliver:    -1,
		ReplayPolicy:  jetstream.ReplayInstantPolicy,
	}}
	switch {
	case strings.HasPrefix(f.filter, contract.LifecyclePrefix+"."):
		c.stream = contract.StreamLifecycle
	case strings.HasPrefix(f.filter, contract.ChangePrefix+"."):
		c.stream = contract.StreamChanges
	default:
		return consumer{}, fmt.Errorf("--filter %q is neither below %s nor below %s", f.filter, contract.LifecyclePrefix, contract.ChangePrefix)
	}
	switch f.deliver {
	case deliverAll:
		c.config.DeliverPolicy = jetstream.DeliverAllPolicy
	case deliverNew:
		c.config.DeliverPolicy = jetstream.DeliverNewPolicy
	default:
		return consumer{}, fmt.Errorf("--deliver must be %s or %s, is %q", deliverAll, deliverNew, f.deliver)
	}
	if f.ackWait <= 0 || f.pending <= 0 {
		return consumer{}, fmt.Errorf("--ack-wait and --max-ack-pending must be positive, are %s and %d", f.ackWait, f.pending)
	}
	return c, nil
}

// create creates or updates the consumer; an existing one keeps its position in the stream.
func (c consumer) create(ctx context.Context, js jetstream.JetStream, out io.Writer) error {
	if _, err := js.CreateOrUpdateConsumer(ctx, c.stream, c.config); err != nil {
		return fmt.Errorf("create consumer %q on %q: %w", c.config.Durable, c.stream, err)
	}
	fmt.Fprintf(out, "%s: consumer %s reads %s\n", c.stream, c.config.Durable, c.config.FilterSubject)
	return nil
}
