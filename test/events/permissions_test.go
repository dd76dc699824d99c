package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestOperatorsHaveLeastPrivilege(t *testing.T) {
	for identity, kinds := range map[string][]contract.Kind{
		"superset-operator": {contract.Superset},
		"engine-operator":   {contract.FireboltEngine, contract.FireboltInstance},
	} {
		t.Run(identity, func(t *testing.T) {
			g := newGuarded(t)
			tap := g.Tap(t)
			conn := g.service(identity)
			publisher := bus.NewPublisher(conn)
			observations := bus.NewObservationPublisher(publisher, "prod", contract.Observer{Name: identity, Instance: "pod"}, nil)
			g.run(publisher.Run)
			g.run(bus.NewHeartbeatPublisher(conn, "prod", contract.Observer{Name: identity, Instance: "pod"}, observations.Epoch).Run)
			for _, kind := range kinds {
				observations.Publish(kind, contract.Observation{
					Object: object(kind), Reconcile: contract.Reconcile{Outcome: contract.Succeeded},
				})
				g.stored(contract.StreamObservations, subjectOf(t, kind, identity))
			}
			g.stored(contract.StreamHeartbeats, contract.HeartbeatPrefix+".prod."+identity)
			g.verifies(conn)
			g.used(tap, identity)
		})
	}
}

// verifies compares the streams with the contract, like each service.
func (g guarded) verifies(conn *bus.Conn) {
	g.Helper()
	drifts, err := bus.Verify(g.Context(), conn.JetStream(), bus.Params{})
	if err != nil || len(drifts) > 0 {
		g.Errorf("drifts %v, error %v", drifts, err)
	}
}

// The relay of the ingester publishes concurrently and requests the last event of an object.
func TestIngesterHasLeastPrivilege(t *testing.T) {
	g := newGuarded(t)
	tap := g.Tap(t)
	conn := g.service("ingester")
	g.run(bus.NewHeartbeatPublisher(conn, "prod", contract.Observer{Name: "ingester", Instance: "pod"}, func() int64 { return 1 }).Run)
	for _, kind := range contract.Kinds() {
		gvk, _ := contract.Lookup(kind)
		if gvk.Group != "michelangelo.api" {
			continue
		}
		future, err := conn.JetStream().PublishAsync(contract.ChangePrefix+".prod.team-a."+string(kind)+".main.created", []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-future.Ok():
		case err := <-future.Err():
			t.Errorf("%s: %v", kind, err)
		}
	}
	subject := "$JS.API.DIRECT.GET." + contract.StreamChanges + "." + contract.ChangePrefix + ".prod.team-a.model.main.*"
	reply, err := conn.JetStream().Conn().RequestWithContext(t.Context(), subject, nil)
	if err != nil || string(reply.Data) != "{}" {
		t.Errorf("last event: %v, %v", reply, err)
	}
	g.stored(contract.StreamHeartbeats, contract.HeartbeatPrefix+".prod.ingester")
	g.verifies(conn)
	g.used(tap, "ingester")
}

func TestBootstrapHasLeastPrivilege(t *testing.T) {
	g := guarded{T: t, Server: busauth.Start(t, names)}
	tap := g.Tap(t)
	conn := g.service("bootstrap")
	for range 2 { // the second time it updates
		if err := bus.Bootstrap(t.Context(), conn.JetStream(), bus.DefaultParams()); err != nil {
			t.Fatal(err)
		}
	}
	g.verifies(conn)
	makeConsumer(t, conn.JetStream(), contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
	makeConsumer(t, conn.JetStream(), contract.StreamChanges, "pager", contract.ChangePrefix+".prod.team-a.>")
	g.used(tap, "bootstrap")
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

// A tool reads only its namespace, with either format of acknowledgement subjects.
func TestToolHasLeastPrivilege(t *testing.T) {
	unused := map[bool]string{
		false: "$JS.ACK.*.*.FLOTILLA_LIFECYCLE.pager.>",
		true:  "$JS.ACK.FLOTILLA_LIFECYCLE.pager.>",
	}
	for _, newer := range []bool{false, true} {
		t.Run(fmt.Sprintf("newer acknowledgements %t", newer), func(t *testing.T) {
			g := newGuarded(t, func(o *server.Options) { o.FeatureFlags = map[string]bool{server.FeatureFlagJsAckFormatV2: newer} })
			makeConsumer(t, g.admin, contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
			tap := g.Tap(t)
			js := g.plain("pager")
			live, err := js.Conn().SubscribeSync(contract.LifecyclePrefix + ".prod.team-a.>")
			if err == nil {
				err = js.Conn().Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
			g.publish("team-a", "a")
			g.publish("team-b", "b")
			g.publish("team-a", "c")

			consumer, err := js.Consumer(t.Context(), contract.StreamLifecycle, "pager")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"a", "c"} {
				m, err := consumer.Next()
				if err != nil {
					t.Fatal(err)
				}
				if string(m.Data()) != want {
					t.Errorf("got %q, want %q", m.Data(), want)
				}
				if err := m.DoubleAck(t.Context()); err != nil {
					t.Error(err)
				}
				if m, err := live.NextMsg(expect.Long); err != nil || string(m.Data) != want {
					t.Errorf("live: %v, %v, want %q", m, err, want)
				}
			}
			if got := g.entry(js.Conn(), "team-a"); got != "entry of team-a" {
				t.Errorf("entry %q", got)
			}
			g.WantNoViolations(t)
			if diff := cmp.Diff([]string{unused[newer]}, tap.Unused(t, "pager")); diff != "" {
				t.Errorf("unused permissions (-want +got):\n%s", diff)
			}
		})
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

var errNotRefused = errors.New("the server did not deny it")

// refused returns nil if the server denied a publish or a subscription.
func refused(nc *nats.Conn, a attempt) error {
	var err error
	if a.listens {
		var sub *nats.Subscription
		if sub, err = nc.SubscribeSync(a.subject); err == nil {
			defer sub.Unsubscribe()
		}
	} else {
		err = nc.PublishMsg(&nats.Msg{Subject: a.subject, Reply: nc.NewInbox(), Data: []byte(a.body)})
	}
	if err == nil {
		err = nc.Flush() // the server sends a denial before the answer to the flush
	}
	if err != nil {
		return err
	}
	last := nc.LastError()
	if !errors.Is(last, nats.ErrPermissionViolation) || !strings.Contains(last.Error(), `"`+a.subject+`"`) {
		return errors.Join(errNotRefused, last)
	}
	return nil
}

func TestServerDeniesForbiddenRequests(t *testing.T) {
	g := newGuarded(t)
	makeConsumer(t, g.admin, contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
	makeConsumer(t, g.admin, contract.StreamLifecycle, "other", contract.LifecyclePrefix+".prod.team-b.>")
	g.publish("team-a", "a")
	g.publish("team-b", "b")
	before := g.state()
	for identity, attempts := range forbidden() {
		t.Run(identity, func(t *testing.T) {
			nc := g.plain(identity).Conn()
			for _, a := range attempts {
				t.Run(a.name, func(t *testing.T) {
					if err := refused(nc, a); err != nil {
						t.Errorf("%s: %v", a.subject, err)
					}
				})
			}
		})
	}
	if diff := cmp.Diff(before, g.state()); diff != "" {
		t.Errorf("the attempts changed the streams (-before +after):\n%s", diff)
	}
}

func TestServerRejectsMissingPassword(t *testing.T) {
	g := newGuarded(t)
	for _, url := range []string{g.URL(), strings.Replace(g.As("ingester"), "ingester:", "superset-operator:wrong", 1), strings.Replace(g.As("pager"), "pager", "TOOL", 1)} {
		if nc, err := nats.Connect(url); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("connected by %q: %v, %v", url, nc, err)
		}
	}
}

// The server delivers the messages of a consumer to any subject that its creator sets, even without permission to
// publish there, if a client subscribes to exactly this subject; a stream of the subject then stores them too. Therefore
// tool.conf grants no permission to create consumers. If this test fails with a later server, that server checks the
// permission, and tool.conf can grant it.
func TestConsumerCreationBypassesPublishPermission(t *testing.T) {
	g := newGuarded(t)
	g.publish("team-a", "an event, not an observation")
	const target = "flotilla.obs.v1.prod.team-a.superset.main.superset-operator"
	victim, err := g.admin.Conn().SubscribeSync(target)
	if err == nil {
		err = g.admin.Conn().Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	reader := g.plain("reader")
	if err := refused(reader.Conn(), publish("", target)); err != nil {
		t.Fatal(err)
	}
	_, err = reader.CreatePushConsumer(t.Context(), contract.StreamLifecycle, jetstream.ConsumerConfig{
		Name: "sly", FilterSubject: contract.LifecyclePrefix + ".prod.team-a.>", AckPolicy: jetstream.AckNonePolicy,
		DeliverSubject: target,
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, err := victim.NextMsg(expect.Long); err != nil || string(m.Data) != "an event, not an observation" {
		t.Errorf("received %v, %v", m, err)
	}
	expect.Eventually(t, expect.Long, func() error {
		stream, err := g.admin.Stream(t.Context(), contract.StreamObservations)
		if err == nil && stream.CachedInfo().State.Msgs == 0 {
			err = errors.New("the stream of observations got no message")
		}
		return err
	})
}
