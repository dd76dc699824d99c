package events

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

var names = busauth.Names{Cluster: "prod", Namespace: "team-a", Tool: "pager"}

// guarded is a bus with the permissions of deploy/nats and its streams.
type guarded struct {
	*testing.T
	*busauth.Server
	admin jetstream.JetStream
}

func newGuarded(t *testing.T, options ...func(*server.Options)) guarded {
	t.Helper()
	g := guarded{T: t}
	g.Server = busauth.Start(t, names, func(o *server.Options) {
		for _, f := range options {
			f(o)
		}
	})
	g.admin = g.plain(busauth.Admin)
	if err := bus.Bootstrap(t.Context(), g.admin, bus.DefaultParams()); err != nil {
		t.Fatal(err)
	}
	return g
}

// plain connects an identity with the default options of the client, except for the inbox prefix.
func (g guarded) plain(identity string) jetstream.JetStream {
	g.Helper()
	nc, err := nats.Connect(g.As(identity), nats.CustomInboxPrefix("_INBOX_"+identity), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		g.Fatal(err)
	}
	return js
}

// service connects an identity like a service.
func (g guarded) service(identity string) *bus.Conn {
	g.Helper()
	conn, err := bus.Connect(bus.Config{URL: g.As(identity), Name: identity})
	if err != nil {
		g.Fatal(err)
	}
	g.Cleanup(func() {
		if err := conn.Close(context.Background()); err != nil {
			g.Error(err)
		}
	})
	return conn
}

func (g guarded) run(run func(context.Context) error) {
	g.Helper()
	ctx, cancel := context.WithCancel(g.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	g.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			g.Error(err)
		}
	})
}

// used fails the test if the server denied the identity an operation, or if the identity has not used all its permissions.
func (g guarded) used(tap *busauth.Tap, identity string) {
	g.Helper()
	g.WantNoViolations(g)
	if unused := tap.Unused(g, identity); len(unused) > 0 {
		g.Errorf("%s has not used these permissions:\n%s", identity, strings.Join(unused, "\n"))
	}
}

// stored waits for a message on a subject.
func (g guarded) stored(stream, subject string) *jetstream.RawStreamMsg {
	g.Helper()
	var got *jetstream.RawStreamMsg
	expect.Eventually(g, expect.Long, func() error {
		s, err := g.admin.Stream(g.Context(), stream)
		if err != nil {
			return err
		}
		got, err = s.GetLastMsgForSubject(g.Context(), subject)
		if err != nil {
			return fmt.Errorf("%s: %w", subject, err)
		}
		return nil
	})
	return got
}

func subjectOf(t *testing.T, kind contract.Kind, last string) string {
	t.Helper()
	subject, err := contract.ObservationSubject(contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: kind, Name: "main"}, last)
	if err != nil {
		t.Fatal(err)
	}
	return subject
}

func object(kind contract.Kind) contract.Object {
	gvk, _ := contract.Lookup(kind)
	return contract.Object{GroupVersionKind: gvk, Namespace: "team-a", Name: "main", UID: "u-" + string(kind), Generation: 1}
}

func makeConsumer(t *testing.T, js jetstream.JetStream, stream, name, filter string) {
	t.Helper()
	_, err := js.CreateOrUpdateConsumer(t.Context(), stream, jetstream.ConsumerConfig{
		Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// publish publishes a lifecycle event and a status entry of a namespace.
func (g guarded) publish(namespace, what string) {
	g.Helper()
	if _, err := g.admin.Publish(g.Context(), contract.LifecyclePrefix+".prod."+namespace+".superset.main.phase", []byte(what)); err != nil {
		g.Fatal(err)
	}
	kv, err := g.admin.KeyValue(g.Context(), contract.BucketStatus)
	if err == nil {
		_, err = kv.Put(g.Context(), "prod."+namespace+".superset.main", []byte("entry of "+namespace))
	}
	if err != nil {
		g.Fatal(err)
	}
}

// entry reads a status entry by its key, without getting information on the bucket.
func (g guarded) entry(nc *nats.Conn, namespace string) string {
	g.Helper()
	reply, err := nc.RequestWithContext(g.Context(), "$JS.API.DIRECT.GET.KV_FLOTILLA_STATUS.$KV.FLOTILLA_STATUS.prod."+namespace+".superset.main", nil)
	if err != nil {
		g.Fatal(err)
	}
	return string(reply.Data)
}

// state describes the messages and consumers of each stream, which denied operations must not change.
func (g guarded) state() map[string]string {
	g.Helper()
	out := map[string]string{}
	streams := g.admin.ListStreams(g.Context())
	for info := range streams.Info() {
		out[info.Config.Name] = fmt.Sprintf("%d messages, last %d, %d consumers, subjects %v",
			info.State.Msgs, info.State.LastSeq, info.State.Consumers, info.Config.Subjects)
	}
	if err := streams.Err(); err != nil {
		g.Fatal(err)
	}
	return out
}
