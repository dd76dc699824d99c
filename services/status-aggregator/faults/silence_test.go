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
	w, err := newWorld(8)
	if err != nil {
		t.Fatal(err)
	}
	w.session = 1
	r := &run{world: w, operator: newOperator(w), metrics: m}
	r.operator.lossy = true
	for _, name := range names {
		r.create(name)
		r.truths[name].available = desired
	}
	r.startAggregator()

	var deaths, wrong int
	soonest, latest := time.Hour, time.Duration(0)
	var died time.Time // when the operator crashed; zero: it runs and has settled
	unknown := false
	for range int(soak / time.Second) {
		r.step(t.Context())
		was := unknown
		unknown = r.unknown(t)
		silent := r.now().Sub(r.lastSign)
		switch {
		case r.operator.up && r.chance(1) && r.chance(20):
			r.operator.up, died = false, r.now()
			deaths++
		case !r.operator.up && r.now().Sub(died) > time.Minute:
			r.operator.start()
			r.operator.lossy = true
		case !r.operator.up && unknown && !was:
			soonest, latest = min(soonest, silent), max(latest, silent)
		case r.operator.up && unknown && !was:
			wrong++
		}
	}
	if deaths < int(soak/time.Hour)*4 {
		t.Errorf("only %d crashes", deaths)
	}
	if soonest < liveness.DefaultValidity || latest > liveness.DefaultValidity+5*time.Second || wrong > 0 {
		t.Errorf("stale after %s to %s without heartbeats, want %s and at most 5 s more; %d times while alive",
			soonest, latest, liveness.DefaultValidity, wrong)
	}
	printBar(t, "B8", latest.Seconds(), fmt.Sprintf("s from the last heartbeat to Unknown, at most, in %.0f simulated hours", soak.Hours()), "35")
	printBar(t, "B8", soonest.Seconds(), "s at least", ">= 30")
	printBar(t, "B8", float64(wrong), "times Unknown although fewer than two heartbeats were missed", "0")
}

// unknown reports whether the objects' conditions are Unknown; they must agree.
func (r *run) unknown(t *testing.T) bool {
	t.Helper()
	said, err := conditionsOf(r.objects[names[0]])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range said {
		if c.Type == conditions.TypeAvailable {
			return c.Status == "Unknown"
		}
	}
	return false
}
