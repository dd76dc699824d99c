//go:build long

package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/freeport"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/faults/bar"
)

// natsCluster is a cluster of three NATS servers in this process.
type natsCluster struct {
	t       *testing.T
	servers [3]*natstest.Server
	links   [3][3]*link // links between the servers; nil to itself
}

func startNATSCluster(t *testing.T) *natsCluster {
	t.Helper()
	c := &natsCluster{t: t}
	ports, err := freeport.Pick(2 * len(c.servers)) // routes, then clients
	if err != nil {
		t.Fatal(err)
	}
	others := ports[:len(c.servers)]
	for i := range c.servers {
		c.servers[i] = natstest.Start(t, func(o *natstest.Options) {
			o.ServerName, o.Port = fmt.Sprintf("n%d", i), ports[len(others)+i]
			// Advertised addresses are unreachable: servers reach each other by the proxies only.
			o.Cluster = natstest.ClusterOptions{Name: "trio", Host: "127.0.0.1", Port: others[i], Advertise: "127.0.0.1:1"}
			o.Routes = natstest.Routes(c.routes(i, others)...)
		})
	}
	return c
}

// routes creates the links from one server to the others.
func (c *natsCluster) routes(from int, ports []int) []string {
	var out []string
	for to, port := range ports {
		if to != from {
			c.links[from][to] = newLink(c.t, fmt.Sprintf("127.0.0.1:%d", port))
			out = append(out, "nats://"+c.links[from][to].listener.Addr().String())
		}
	}
	return out
}

// isolate cuts the links between one server and the others; clients can still connect.
func (c *natsCluster) isolate(i int) { c.forEachLink(i, (*link).disconnect) }

func (c *natsCluster) reconnect(i int) { c.forEachLink(i, (*link).restore) }

func (c *natsCluster) forEachLink(i int, do func(*link)) {
	for other := range c.links {
		if other != i {
			do(c.links[i][other])
			do(c.links[other][i])
		}
	}
}

func (c *natsCluster) url() string {
	return strings.Join([]string{c.servers[0].URL(), c.servers[1].URL(), c.servers[2].URL()}, ",")
}

// leader returns the index of the server that is the leader of a stream.
func (c *natsCluster) leader(f *fixture, stream string) int {
	c.t.Helper()
	leader := -1
	expect.Eventually(c.t, expect.Long, func() error {
		s, err := f.conn.JetStream().Stream(c.t.Context(), stream)
		if err != nil {
			return err
		}
		cluster := s.CachedInfo().Cluster
		if cluster == nil || cluster.Leader == "" {
			return fmt.Errorf("stream %s has no leader", stream)
		}
		_, err = fmt.Sscanf(cluster.Leader, "n%d", &leader)
		return err
	})
	return leader
}

// persistentPublisher publishes numbered messages, each until it is acknowledged.
type persistentPublisher struct {
	acked   []string
	longest atomic.Int64 // nanoseconds between two acknowledgements
	count   atomic.Int64
}

func (s *persistentPublisher) run(ctx context.Context, conn *bus.Conn) error {
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	last := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		<-ticker.C
		id := fmt.Sprintf("change-%d", n)
		for ctx.Err() == nil {
			_, err := conn.Publish(ctx, bus.Message{Subject: "flotilla.change.v1.test.ns.superset.a.updated", ID: id, Body: []byte(id)})
			if err == nil {
				s.longest.Store(max(s.longest.Load(), int64(time.Since(last))))
				last = time.Now()
				s.acked = append(s.acked, id)
				s.count.Add(1)
				break
			}
		}
	}
	return nil
}

// waitForProgress waits until more messages are acknowledged.
func (s *persistentPublisher) waitForProgress(t *testing.T) {
	t.Helper()
	before := s.count.Load()
	expect.Eventually(t, expect.Long, func() error {
		if n := s.count.Load(); n < before+20 {
			return fmt.Errorf("%d messages acknowledged, before %d", n, before)
		}
		return nil
	})
}

// Three servers lose their leader, then their majority: no acknowledged message
// is lost, the conditions stay correct, and work continues.
func TestThreeServersLoseMajority(t *testing.T) {
	cluster := startNATSCluster(t)
	params := bus.DefaultParams()
	params.Replicas = 3
	f := newFixtureAt(t, cluster.url(), params)
	r := f.start()
	o, u, flips := f.available()

	s := &persistentPublisher{}
	conn := f.connect("changes")
	stop := f.run(func(ctx context.Context) error { return s.run(ctx, conn) })
	s.waitForProgress(t)
	for i, stream := range []string{contract.StreamObservations, contract.StreamChanges} {
		formerLeader := cluster.leader(f, stream)
		cluster.servers[formerLeader].Stop()
		o.observe(u, int32(1+i))
		flips.want(t, conditions.TypeAvailable, []string{"True", "False", "True"}[:i+2]...)
		s.waitForProgress(t)
		cluster.servers[formerLeader].Start()
		s.waitForProgress(t)
	}
	longest := time.Duration(s.longest.Load())

	cluster.servers[0].Stop()
	cluster.servers[1].Stop()
	r.waitForLease(t, 0)
	cluster.servers[0].Start()
	cluster.servers[1].Start()
	s.waitForProgress(t)
	o.observe(u, 1)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	flips.want(t, conditions.TypeAvailable, "True", "False", "True", "False")
	stop()

	lost := cluster.missing(f, s.acked)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged messages are lost", lost, len(s.acked))
	}
	report := func(name string, value float64, unit, limit string) {
		if err := bar.Print(os.Stdout, name, value, unit, limit); err != nil {
			t.Error(err)
		}
	}
	report("B4", float64(lost), fmt.Sprintf("of %d acknowledged messages lost by three servers, each killed once", len(s.acked)), "0")
	report("B7", longest.Seconds(), "s without an acknowledgement when a stream's leader goes, at most", "5")
}

// missing counts the ids that do not occur in the stream of changes exactly once and in order.
func (c *natsCluster) missing(f *fixture, acked []string) int {
	c.t.Helper()
	var stored []string
	for _, m := range natstest.Messages(c.t, f.conn.JetStream(), contract.StreamChanges) {
		stored = append(stored, string(m.Data))
	}
	missing := 0
	for i, id := range acked {
		if i >= len(stored) || stored[i] != id {
			missing++
		}
	}
	return missing
}
