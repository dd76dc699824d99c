package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

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

// The relay of the ingester publishes concurrently and requests the last event of an object, and of a kind.
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
	for _, events := range []string{".prod.team-a.model.main.*", ".prod.*.model.>"} {
		subject := "$JS.API.DIRECT.GET." + contract.StreamChanges + "." + contract.ChangePrefix + events
		reply, err := conn.JetStream().Conn().RequestWithContext(t.Context(), subject, nil)
		if err != nil || string(reply.Data) != "{}" || !strings.Contains(reply.Header.Get("Nats-Subject"), ".model.") {
			t.Errorf("last event of %s: %v, %v", events, reply, err)
		}
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
