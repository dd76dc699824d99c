package bus_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func TestHeartbeatsHaveEpochAndExpiry(t *testing.T) {
	srv, c := bootstrapped(t)
	h := bus.NewHeartbeatPublisher(c.Conn, "prod", me, func() int64 { return 7 })
	running(t, h.Run)
	subject, err := contract.HeartbeatSubject("prod", me.Name)
	if err != nil {
		t.Fatal(err)
	}
	unacknowledged := 0
	publish := func() error {
		stream, err := c.JetStream().Stream(t.Context(), contract.StreamHeartbeats)
		if err != nil {
			return err
		}
		m, err := stream.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			return err
		}
		_, got, err := contract.Decode[contract.Heartbeat](m.Data)
		if err != nil {
			return err
		}
		want := contract.Heartbeat{Cluster: "prod", Observer: me, Epoch: 7, IntervalSeconds: 10, SentAt: got.SentAt, Unacknowledged: &unacknowledged}
		if diff := cmp.Diff(want, got); diff != "" || m.Header.Get("Nats-TTL") != "35" {
			return fmt.Errorf("heartbeat with TTL %q (-want +got):\n%s", m.Header.Get("Nats-TTL"), diff)
		}
		// Readers of v1.0 support the header only.
		if n, ok := bus.Unacknowledged(contract.Heartbeat{}, m.Header); !ok || n != unacknowledged {
			return fmt.Errorf("the header of the heartbeat has %d unacknowledged, want %d", n, unacknowledged)
		}
		return nil
	}
	eventually(t, publish)
	p := bus.NewPublisher(c.Conn) // does not run
	for i := range 3 {
		p.Enqueue(observed(i), text("1", "a"))
	}
	unacknowledged = 3
	srv.Stop() // a reconnect triggers a heartbeat at once
	srv.Start()
	eventually(t, publish)
}
