package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/conditions"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/liveness"
)

// On a simulated day heartbeats are late, single ones but never two in a row are lost, and
// the operator crashes about every ten minutes: it is reported stale after each crash, in time,
// and at no other time.
func TestOperatorFailuresDuringSimulatedDay(t *testing.T) {
	m, err := newMetrics()
	if err != nil {
		t.Fatal(err)
	}
	w, err := newSimulation(8)
	if err != nil {
		t.Fatal(err)
	}
	w.session = 1
	r := &run{simulation: w, operator: newOperator(w), metrics: m}
	r.operator.dropHeartbeats = true
	for _, name := range names {
		r.create(name)
		r.actual[name].available = desired
	}
	r.startAggregator()

	var crashes, falseAlarms int
	earliest, latest := time.Hour, time.Duration(0)
	var crashedAt time.Time // when the operator crashed; zero: it runs and has settled
	unknown := false
	for range int(soak / time.Second) {
		r.step(t.Context())
		was := unknown
		unknown = r.unknown(t)
		sinceHeartbeat := r.now().Sub(r.lastHeartbeat)
		switch {
		case r.operator.up && r.chance(1) && r.chance(20):
			r.operator.up, crashedAt = false, r.now()
			crashes++
		case !r.operator.up && r.now().Sub(crashedAt) > time.Minute:
			r.operator.start()
			r.operator.dropHeartbeats = true
		case !r.operator.up && unknown && !was:
			earliest, latest = min(earliest, sinceHeartbeat), max(latest, sinceHeartbeat)
		case r.operator.up && unknown && !was:
			falseAlarms++
		}
	}
	if crashes < int(soak/time.Hour)*4 {
		t.Errorf("only %d crashes", crashes)
	}
	if earliest < liveness.DefaultValidity || latest > liveness.DefaultValidity+5*time.Second || falseAlarms > 0 {
		t.Errorf("stale after %s to %s without heartbeats, want %s and at most 5 s more; %d times while alive",
			earliest, latest, liveness.DefaultValidity, falseAlarms)
	}
	printBar(t, "B8", latest.Seconds(), fmt.Sprintf("s from the last heartbeat to Unknown, at most, in %.0f simulated hours", soak.Hours()), "35")
	printBar(t, "B8", earliest.Seconds(), "s at least", ">= 30")
	printBar(t, "B8", float64(falseAlarms), "times Unknown although fewer than two heartbeats were missed", "0")
}

// unknown reports whether the objects' conditions are Unknown; they must agree.
func (r *run) unknown(t *testing.T) bool {
	t.Helper()
	present, err := conditionsOf(r.objects[names[0]])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range present {
		if c.Type == conditions.TypeAvailable {
			return c.Status == "Unknown"
		}
	}
	return false
}
