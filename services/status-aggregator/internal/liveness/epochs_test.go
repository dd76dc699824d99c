package liveness

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

// The epoch of a heartbeat that only the probe has found is unknown: an invented one would become inactive.
func TestProbedHeartbeatHasNoEpoch(t *testing.T) {
	tracker := runSteps(t, []step{{0, "connect"}})
	var reported []int
	second := 0
	watchdog := NewWatchdog(tracker, func(context.Context, string) (bool, error) { return true, nil },
		clocktesting.NewFakeClock(start), func(string, State) { reported = append(reported, second) })
	for ; second <= 700; second += 10 {
		if second < 50 || second > 80 { // else it is overdue, and the probe finds a heartbeat
			tracker.RecordSeen(operator, 1, validity, at(second))
		}
		watchdog.Step(t.Context(), at(second))
	}
	if diff := cmp.Diff([]int{0, 10, 300}, reported); diff != "" { // unconfirmed, alive, unseen epochs
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}
