package events

import (
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// live subscribes to a subject and returns the bodies of new events.
func (k recipeEnv) live(identity, subject string) []string {
	k.Helper()
	nc := k.plain(identity).Conn()
	sub, err := nc.SubscribeSync(subject)
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		k.Fatal(err)
	}
	k.happens("team-b", "recovered")
	k.happens("team-a", "recovered")
	return k.receive(sub, 1)
}

func (k recipeEnv) receive(sub *nats.Subscription, n int) []string {
	k.Helper()
	var out []string
	for range n {
		m, err := sub.NextMsg(expect.Long)
		if err != nil {
			k.Fatal(err)
		}
		out = append(out, string(m.Data))
	}
	return out
}

// replay implements "nats sub" with a flag that requests past messages.
func (k recipeEnv) replay(subject string, n int, from nats.SubOpt) []string {
	k.Helper()
	js, err := k.plain("reader").Conn().JetStream()
	if err != nil {
		k.Fatal(err)
	}
	sub, err := js.SubscribeSync(subject, nats.EnableFlowControl(), nats.IdleHeartbeat(5*time.Second), nats.AckNone(), from)
	if err != nil {
		k.Fatal(err)
	}
	defer sub.Unsubscribe()
	return k.receive(sub, n)
}

func (k recipeEnv) bucket() jetstream.KeyValue {
	k.Helper()
	kv, err := k.plain("reader").KeyValue(k.Context(), contract.BucketStatus)
	if err != nil {
		k.Fatal(err)
	}
	return kv
}

func (k recipeEnv) value(e jetstream.KeyValueEntry, err error) []string {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
	return []string{string(e.Value())}
}

func (k recipeEnv) consumerOf(identity, name string) jetstream.Consumer {
	k.Helper()
	c, err := k.plain(identity).Consumer(k.Context(), contract.StreamLifecycle, name)
	if err != nil {
		k.Fatal(err)
	}
	return c
}

// next fetches n events from a consumer and acknowledges them.
func (k recipeEnv) next(identity, name string, n int) []string {
	k.Helper()
	consumer := k.consumerOf(identity, name)
	var out []string
	for range n {
		m, err := consumer.Next()
		if err == nil {
			err = m.DoubleAck(k.Context())
		}
		if err != nil {
			k.Fatal(err)
		}
		out = append(out, string(m.Data()))
	}
	return out
}
