package bus_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/natstest"
)

// idle waits until a client's publishers have sent everything.
func idle(t *testing.T, c client) {
	t.Helper()
	eventually(t, func() error {
		if n := c.metric(t, "flotilla_bus_outbox_depth"); n != 0 {
			return fmt.Errorf("%v subjects wait", n)
		}
		return nil
	})
}

// replaceDir replaces a directory's content by that of another.
func replaceDir(t *testing.T, dir, source string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
		t.Fatal(err)
	}
}

// publishAsOther publishes with another observer on a server of its own with the data in dir, until
// the stream's last sequence exceeds head.
func publishAsOther(t *testing.T, dir string, head uint64) {
	t.Helper()
	srv := natstest.Start(t, func(o *natstest.Options) { o.StoreDir = dir })
	defer srv.Stop()
	c := connect(t, srv.URL())
	p := bus.NewPublisher(c.Conn)
	other := bus.NewObservationPublisher(p, "prod", contract.Observer{Name: "other", Instance: "other-0"}, nil)
	stop := running(t, p.Run)
	defer stop()
	for i := range head + 1 {
		other.Publish(contract.Superset, observation(fmt.Sprintf("other-%d", i), "Running"))
	}
	idle(t, c)
	if got := streamState(t, c, contract.StreamObservations).LastSeq; got <= head {
		t.Fatalf("the other observer's last sequence is %d, want more than %d", got, head)
	}
}

func TestObservationPublisherDetectsLossThatOtherPublisherHides(t *testing.T) {
	tests := map[string]struct {
		kept    bool // its first messages are in the backup
		pending bool // it has a message to send when it reconnects
	}{
		"some of its messages remain":           {kept: true},
		"none of its messages remains":          {},
		"it has a new message":                  {kept: true, pending: true},
		"it has a new message, and none remain": {pending: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var dir string
			srv := natstest.Start(t, func(o *natstest.Options) { dir = o.StoreDir })
			c := connect(t, srv.URL())
			bootstrap(t, c)
			o := observing(t, c, 1000)
			if tc.kept {
				o.Publish(contract.Superset, observation("kept", "Running"))
				idle(t, c)
			}
			backup := t.TempDir()
			srv.Stop()
			replaceDir(t, backup, dir)
			srv.Start()
			o.Publish(contract.Superset, observation("lost", "Running"))
			wantPhase(t, c, "lost", "Running")
			idle(t, c)
			head := streamState(t, c, contract.StreamObservations).LastSeq

			srv.Stop()
			replaceDir(t, dir, backup)
			publishAsOther(t, dir, head)
			if tc.pending {
				o.Publish(contract.Superset, observation("new", "Running"))
			}
			srv.Start()
			wantPhase(t, c, "lost", "Running")
		})
	}
}

func TestObservationPublisherExpectsNoTombstone(t *testing.T) {
	tests := map[string]struct {
		tombstone bool   // the newest message is one
		remove    uint64 // sequence of the newest message
		want      uint64 // last sequence
	}{
		"an expired tombstone":               {true, 3, 3},
		"an observation is sent again, once": {false, 2, 4},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, c := bootstrapped(t)
			p := bus.NewPublisher(c.Conn, bus.WithStreamCheck(20*time.Millisecond))
			o := bus.NewObservationPublisher(p, "prod", me, nil)
			running(t, p.Run)
			for _, name := range []string{"a", "b"} {
				o.Publish(contract.Superset, observation(name, "Running"))
				idle(t, c)
			}
			if tc.tombstone {
				o.Delete(contract.Superset, observation("b", "").Object)
				idle(t, c)
			}
			stream, err := c.JetStream().Stream(t.Context(), contract.StreamObservations)
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.DeleteMsg(t.Context(), tc.remove); err != nil {
				t.Fatal(err)
			}
			wantLastSequence(t, c, tc.want)
			if got := c.metric(t, "flotilla_bus_stream_resets_total"); got != 0 {
				t.Errorf("stream_resets_total is %v, want 0", got)
			}
		})
	}
}

// wantLastSequence waits until several checks have led to no message beyond want.
func wantLastSequence(t *testing.T, c client, want uint64) {
	t.Helper()
	eventually(t, func() error {
		if got := streamState(t, c, contract.StreamObservations).LastSeq; got != want {
			return fmt.Errorf("the last sequence is %d, want %d", got, want)
		}
		return nil
	})
	conn := c.JetStream().Conn()
	sent := conn.Stats().OutMsgs
	eventually(t, func() error {
		if n := conn.Stats().OutMsgs - sent; n < 10 {
			return fmt.Errorf("%d requests of checks, want 10", n)
		}
		return nil
	})
	if got := streamState(t, c, contract.StreamObservations).LastSeq; got != want {
		t.Errorf("the last sequence is %d, want %d", got, want)
	}
}
