package bus_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// The server publishes an advisory to the stream of dead letters for a message that reached the
// maximum of deliveries, and for one that its reader terminated.
func TestAbandonedMessagesBecomeDeadLetters(t *testing.T) {
	_, c := bootstrapped(t)
	publish(t, c, subject(1), "poison", nil)
	stream, err := c.JetStream().Stream(t.Context(), contract.StreamObservations)
	if err != nil {
		t.Fatal(err)
	}
	for name, abandon := range map[string]func(jetstream.Msg) error{
		"exhausted":  func(jetstream.Msg) error { return nil },
		"terminated": jetstream.Msg.Term,
	} {
		consumer, err := stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
			Durable: name, AckPolicy: jetstream.AckExplicitPolicy, AckWait: 100 * time.Millisecond, MaxDeliver: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := consumer.Next(jetstream.FetchMaxWait(waitTimeout))
		if err != nil {
			t.Fatal(err)
		}
		if err := abandon(m); err != nil {
			t.Fatal(err)
		}
		if name == "exhausted" { // the server detects it at the next due delivery, if a pull request waits
			waiting, err := consumer.Messages()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(waiting.Stop)
		}
	}
	eventually(t, func() error {
		deadLetters, err := c.JetStream().Stream(t.Context(), contract.StreamDeadLetters)
		if err != nil {
			return err
		}
		for advisory, consumer := range map[string]string{"MAX_DELIVERIES": "exhausted", "MSG_TERMINATED": "terminated"} {
			m, err := deadLetters.GetLastMsgForSubject(t.Context(), "$JS.EVENT.ADVISORY.CONSUMER."+advisory+"."+contract.StreamObservations+"."+consumer)
			if err != nil {
				return fmt.Errorf("%s: %w", advisory, err)
			}
			var advised struct {
				Sequence uint64 `json:"stream_seq"`
			}
			if err := json.Unmarshal(m.Data, &advised); err != nil || advised.Sequence != 1 {
				return errors.Join(fmt.Errorf("%s names message %d", advisory, advised.Sequence), err)
			}
		}
		return nil
	})
}
