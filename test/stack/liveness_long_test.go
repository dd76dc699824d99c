//go:build long

package stack_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

var quiet = flag.Duration("quiet", 2*time.Minute, "period in which no operator may be reported stale; bar B8 requires 30m")

// TestLivenessInRealTime checks bar B8 in real time: healthy operators are never reported stale. It prints the time from the
// last heartbeat of a killed operator to Unknown (bar 30 to 35 s). The bars in simulated time are in
// services/status-aggregator.
func TestLivenessInRealTime(t *testing.T) {
	s := start(t)
	before := s.unknown(t)
	began := time.Now()
	select {
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	case <-time.After(*quiet):
	}
	falselyUnknown := s.unknown(t) - before
	fmt.Printf("BAR B8 %d times reported stale without reason in %s of real time (bar 0)\n", falselyUnknown, time.Since(began).Round(time.Second))
	if falselyUnknown != 0 {
		t.Errorf("%d conditions became Unknown while all operators were alive", falselyUnknown)
	}
	for _, observer := range []struct {
		name string
		kind schema.GroupVersionKind
	}{{"superset-operator", supersets}, {"engine-operator", engines}} {
		s.stack(t, "kill", observer.name)
		last := s.lastHeartbeat(t, observer.name)
		name := s.list(t, observer.kind)[0].GetName()
		s.wait(t, observer.kind, name, reports("Available=Unknown/ObserverStale"))
		after := time.Since(last)
		fmt.Printf("BAR B8 %.1f s from the last heartbeat of %s to Unknown (bar 30 to 35)\n", after.Seconds(), observer.name)
		if after < 30*time.Second {
			t.Errorf("%s was reported stale %s after its last heartbeat, want at least 30s", observer.name, after)
		}
		s.stack(t, "start", observer.name)
		s.wait(t, observer.kind, name, isHealthy)
	}
}

// unknown returns the number of events of conditions that became Unknown in the whole stream.
func (s *suite) unknown(t *testing.T) int {
	t.Helper()
	count := 0
	s.history(t, func(h historyReader) error {
		count = 0
		for kind := range healthy {
			for _, item := range s.list(t, kind) {
				for _, e := range h.Of(kind.Kind, item.GetName()) {
					if e.Event == contract.EventUnknown {
						count++
					}
				}
			}
		}
		return h.Check()
	})
	return count
}

// lastHeartbeat returns the time of the last heartbeat of an observer in the stream.
func (s *suite) lastHeartbeat(t *testing.T, observer string) time.Time {
	t.Helper()
	subject, err := contract.HeartbeatSubject("local", observer) // the stack's --cluster-name
	if err != nil {
		t.Fatal(err)
	}
	stream, err := s.JS.Stream(t.Context(), contract.StreamHeartbeats)
	if err != nil {
		t.Fatal(err)
	}
	beat, err := stream.GetLastMsgForSubject(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	return beat.Time
}
