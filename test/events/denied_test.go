package events

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

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
