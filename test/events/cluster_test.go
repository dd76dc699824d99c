package events

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest/busauth"
)

// newCluster starts three servers and creates the streams.
func newCluster(t *testing.T) []guarded {
	t.Helper()
	const size = 3
	ports, err := freeport.Pick(size)
	if err != nil {
		t.Fatal(err)
	}
	var routes []string
	for _, port := range ports {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	servers := make([]guarded, size)
	for i := range servers {
		servers[i] = guarded{T: t, Server: busauth.Start(t, names, func(o *server.Options) {
			o.ServerName = fmt.Sprintf("n%d", i)
			o.Cluster = natstest.ClusterOptions{Name: "bus", Host: "127.0.0.1", Port: ports[i]}
			o.Routes = natstest.Routes(routes...)
		})}
	}
	for i := range servers {
		servers[i].admin = servers[i].plain(busauth.Admin)
	}
	params := bus.DefaultParams()
	params.Replicas = size
	expect.Eventually(t, expect.Long, func() error { // the servers elect a leader
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return bus.Bootstrap(ctx, servers[0].admin, params)
	})
	return servers
}

// Requests and answers cross the accounts also if client, stream and consumer are on different servers.
func TestAccountsWorkInCluster(t *testing.T) {
	servers := newCluster(t)
	makeConsumer(t, servers[0].admin, contract.StreamLifecycle, "pager", contract.LifecyclePrefix+".prod.team-a.>")
	for i, g := range servers {
		operator := g.plain("superset-operator")
		expect.Eventually(t, expect.Long, func() error { // the servers exchange their interest
			_, err := operator.Publish(t.Context(), subjectOf(t, contract.Superset, "superset-operator"), []byte("{}"))
			return err
		})
		event := fmt.Sprintf("event %d", i)
		g.publish("team-a", event)
		consumer, err := g.plain("pager").Consumer(t.Context(), contract.StreamLifecycle, "pager")
		if err != nil {
			t.Fatal(err)
		}
		m, err := consumer.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.DoubleAck(t.Context()); err != nil || string(m.Data()) != event {
			t.Errorf("server %d: read %q, %v, want %q", i, m.Data(), err, event)
		}
		g.WantNoViolations(t)
	}
}
