//go:build long

package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/faults/bar"
)

// One of three servers is partitioned together with the aggregator; the operator is on
// the other side. The aggregator receives no heartbeat, publishes nothing, and releases its Lease
// although it is connected and has read all messages of its server. The majority continues.
// After the partition no message is lost and no condition flips without a cause.
func TestPartitionedServers(t *testing.T) {
	cluster := startNATSCluster(t)
	params := bus.DefaultParams()
	params.Replicas = 3
	f := newFixtureAt(t, cluster.servers[1].URL(), params)
	f.urls[Name] = cluster.servers[0].URL()
	f.interval = bus.HeartbeatInterval
	r := f.start()
	o, u, flips := f.available()
	s := &persistentPublisher{}
	f.urls["changes"] = cluster.servers[2].URL()
	conn := f.connect("changes")
	stop := f.run(func(ctx context.Context) error { return s.run(ctx, conn) })
	s.waitForProgress(t)

	cluster.isolate(0)
	partitionedAt := time.Now()
	seen := o.observe(u, 1)
	s.waitForProgress(t) // the majority continues, whichever replica was the leader
	waitForRelease(t, r, o.name)
	elapsed := time.Since(partitionedAt)
	renewed := f.lease().Spec.RenewTime
	o.reportStandalone(u, seen)
	flips.want(t, conditions.TypeAvailable, "True", "False")

	cluster.reconnect(0)
	f.leading(renewed.Time)
	s.waitForProgress(t)
	o.observe(u, 2)
	flips.want(t, conditions.TypeAvailable, "True", "False", "True")
	flips.want(t, conditions.TypeDegraded, "False")

	for _, line := range f.history() {
		if strings.Contains(line, "unknown") {
			t.Errorf("the history has an unknown operator although the aggregator was disconnected: %q", line)
		}
	}

	leader := cluster.leader(f, contract.StreamChanges)
	if leader != 2 { // not the one that the publisher is connected to, who stays there
		cluster.isolate(leader)
		s.waitForProgress(t)
		cluster.reconnect(leader)
		s.waitForProgress(t)
	}
	stop()
	reportLost(t, cluster, f, s.acked)
	t.Logf("the partitioned aggregator had released the lease after %s", elapsed.Round(time.Second))
}

// waitForRelease waits until the aggregator has released its Lease. Until then the operator must not become stale.
func waitForRelease(t *testing.T, r *running, operator string) {
	t.Helper()
	stopped := false
	expect.Eventually(t, 2*expect.Long, func() error {
		state := map[string]string{"observer": operator, "state": "Stale"}
		stopped = stopped || r.metric(t, "flotilla_status_observer", state) == 1
		if held := value(t, r, "flotilla_status_lease_held"); held != 0 {
			return fmt.Errorf("the lease is held by a disconnected aggregator: %v", held)
		}
		return nil
	})
	if stopped {
		t.Error("the operator is stale although the aggregator was disconnected")
	}
}

// reportLost reports how many acknowledged messages are not in the stream.
func reportLost(t *testing.T, cluster *natsCluster, f *fixture, acked []string) {
	t.Helper()
	lost := 0
	expect.Eventually(t, expect.Long, func() error {
		if lost = cluster.missing(f, acked); lost > 0 {
			return fmt.Errorf("%d of %d acknowledged messages are missing", lost, len(acked))
		}
		return nil
	})
	if err := bar.Print(os.Stdout, "B4", float64(lost), fmt.Sprintf("of %d acknowledged messages lost by three servers, of which one was cut off", len(acked)), "0"); err != nil {
		t.Error(err)
	}
}
