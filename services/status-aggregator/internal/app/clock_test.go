package app

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// shiftedClock is the real clock with an offset.
type shiftedClock struct {
	clock.RealClock

	clockOffset atomic.Int64
}

func (c *shiftedClock) Now() time.Time {
	return c.RealClock.Now().Add(time.Duration(c.clockOffset.Load()))
}

func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c *shiftedClock) advance(d time.Duration) { c.clockOffset.Add(int64(d)) }

// A hold-down continues while no aggregator runs, and ends at its exact time.
func TestHoldDownSurvivesRestart(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	clk := &shiftedClock{}
	f.clock = clk
	r := f.start()
	o := f.operator("superset-operator", contract.Superset)
	f.leading(time.Time{})
	u := f.superset("main")
	o.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	o.observe(u, 1)
	held := f.condition(u, conditions.TypeDegraded, "False", conditions.ReasonWithinTolerance)
	onset := f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas).LastTransitionTime
	if n := r.metric(t, "flotilla_status_held_transitions", map[string]string{"type": conditions.TypeDegraded}); n != 1 {
		t.Errorf("held transitions: %v, want 1", n)
	}
	r.stop()
	heldSince := f.entry(contract.Superset, u).Provenance.Held
	if heldSince == nil || heldSince.Type != conditions.TypeDegraded || heldSince.Status != "True" ||
		heldSince.Until.Sub(heldSince.Since) != conditions.MissingReplicasHold || !heldSince.Since.Truncate(time.Second).Equal(onset.Time) {
		t.Fatalf("the entry holds back %+v, onset %s", heldSince, onset)
	}

	const early = 10 * time.Second
	clk.advance(conditions.MissingReplicasHold - early)
	second := f.start()
	c := f.condition(u, conditions.TypeDegraded, "True", conditions.ReasonInsufficientReplicas)
	if after := c.LastTransitionTime.Sub(onset.Time); after < conditions.MissingReplicasHold-time.Second {
		t.Errorf("Degraded %s after the onset, want %s", after, conditions.MissingReplicasHold)
	}
	if c.LastTransitionTime.Time.Before(heldSince.Until.Truncate(time.Second)) {
		t.Errorf("Degraded at %s, the deadline was %s", c.LastTransitionTime, heldSince.Until)
	}
	if now := f.entry(contract.Superset, u).Provenance.Held; now != nil {
		t.Errorf("the entry still holds back %+v", now)
	}
	if !held.LastTransitionTime.Before(&c.LastTransitionTime) {
		t.Errorf("Degraded since %s, before since %s", c.LastTransitionTime, held.LastTransitionTime)
	}
	expect.Eventually(t, expect.Long, func() error {
		if n := second.metric(t, "flotilla_status_held_transitions", map[string]string{"type": conditions.TypeDegraded}); n != 0 {
			return fmt.Errorf("held transitions: %v, want none", n)
		}
		return nil
	})
}

// No rule reads an operator's clock: a wrong clock changes neither the conditions nor
// the precedence of observations, also when the operator restarts after its clock was set back.
func TestConditionsIgnoreOperatorClock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start()
	fastOperator := f.operatorWithClock("superset-operator", contract.Superset, 10*time.Minute)
	f.leading(time.Time{})
	u := f.superset("main")
	flips := f.record(u)
	fastOperator.observe(u, 2)
	f.condition(u, conditions.TypeAvailable, "True", conditions.ReasonAllComponentsReady)
	former := f.entry(contract.Superset, u).Provenance.Epoch

	fastOperator.stopHeartbeats()
	slowOperator := f.operatorWithClock("superset-operator", contract.Superset, -10*time.Minute)
	slowOperator.observe(u, 1)
	f.condition(u, conditions.TypeAvailable, "False", conditions.ReasonInsufficientReplicas)
	if now := f.entry(contract.Superset, u).Provenance.Epoch; now <= former {
		t.Errorf("epoch %d after %d", now, former)
	}
	flips.want(t, conditions.TypeAvailable, "True", "False")
}
