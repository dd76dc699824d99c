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

var quiet = flag.Duration("quiet", 2*time.Minute, "how long no operator may be stale without reason; bar B8 requires 30m")

// TestLivenessInRealTime is bar B8 by the clock of the machine: operators that are well are never reported stale, and one
// that is killed is, 30 to 35 s after its last heartbeat. The bars of simulated time are in services/status-aggregator.
func TestLivenessInRealTime(t *testing.T) {
	s := start(t)
	before := s.unknown(t)
	began := time.Now()
	select {
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	case <-time.After(*quiet):
	}
	wrongly := s.unknown(t) - before
	fmt.Printf("BAR B8 %d times reported stale without reason in %s of real time (bar 0)\n", wrongly, time.Since(began).Round(time.Second))
	if wrongly != 0 {
		t.Errorf("%d conditions became Unknown while every operator was well", wrongly)
	}
	for _, observer := range []struct {
		name string
		kind schema.GroupVersionKind
	}{{"superset-operator", supersets}, {"engine-operator", engines}} {
		s.stack(t, "kill", observer.name)
		last := s.lastBeat(t, observer.name)
		name := s.list(t, observer.kind)[0].GetName()
		s.wait(t, observer.kind, name, says("Available=Unknown/ObserverStale"))
		after := time.Since(last)
		fmt.Printf("BAR B8 %.1f s from the last heartbeat of %s to Unknown (bar 30 to 35)\n", after.Seconds(), observer.name)
		if after < 30*time.Second {
			t.Errorf("%s was reported stale %s after its last heartbeat, which is valid for 30 s", observer.name, after)
		}
		s.stack(t, "start", observer.name)
		s.wait(t, observer.kind, name, isHealthy)
	}
}

// unknown counts the conditions that became Unknown since the stream began.
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

// lastBeat is when the last heartbeat of an observer reached the stream.
func (s *suite) lastBeat(t *testing.T, observer string) time.Time {
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
