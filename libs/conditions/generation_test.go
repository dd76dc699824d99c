package conditions_test

import (
	"slices"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// kubectl wait trusts a condition whose observedGeneration equals the object's generation.
func TestObservedGenerationFollowsObservation(t *testing.T) {
	tests := map[string]struct {
		seen, applied, now int64
		paused, others     int64
	}{
		"all is applied":         {2, 2, 2, 2, 2},
		"the spec is unread":     {1, 1, 2, 1, 1},
		"the spec is unapplied":  {2, 1, 2, 2, 1},
		"nothing was applied":    {1, 0, 1, 1, 0},
		"a cache lags behind":    {3, 3, 2, 2, 2},
		"a claim beyond reason":  {2, 9, 2, 2, 2},
		"a claim that is absurd": {-1, -1, 2, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, freshness := range []conditions.Freshness{conditions.Fresh, conditions.ObserverStale} {
				in := fresh(healthy(func(o *contract.Observation) { o.Object.Generation, o.ObservedGeneration = tc.seen, tc.applied }))
				in.Generation, in.Freshness = tc.now, freshness
				for _, c := range conditions.Compute(in).Conditions {
					want := tc.others
					if c.Type == conditions.TypePaused {
						want = tc.paused
					}
					if c.ObservedGeneration != want {
						t.Errorf("%s has observedGeneration %d, want %d", c.Type, c.ObservedGeneration, want)
					}
				}
			}
		})
	}
}

// pinned are the types whose conditions are valid for a spec that was read and takes no effect.
var pinned = []string{conditions.TypeProgressing, conditions.TypeDegraded, conditions.TypeUpgradable, conditions.TypePaused}

// Other writers continue from what runs, so the types that describe it never precede an apply.
func TestMayPrecedeApply(t *testing.T) {
	for _, kind := range conditions.TypesOf(true) {
		if got, want := conditions.MayPrecedeApply(kind), slices.Contains(pinned, kind); got != want {
			t.Errorf("MayPrecedeApply(%s) is %t, want %t", kind, got, want)
		}
	}
}

// The conditions of a spec that takes no effect carry its generation, except Available: a
// wait for Degraded or Progressing ends, and a wait for Available does not.
func TestObservedGenerationOfRejectedSpec(t *testing.T) {
	older := func(o *contract.Observation) { o.ObservedGeneration = 1 }
	for name, o := range map[string]*contract.Observation{
		"rejected":               healthy(rejected(conditions.ReasonInvalidSpec)),
		"waiting":                healthy(awaiting(conditions.ReasonAwaitingApproval)),
		"a task failed":          healthy(jobs("migrate", contract.JobFailed, "init", contract.JobPending), older),
		"paused":                 healthy(paused, older),
		"rejected from creation": healthy(rejected(conditions.ReasonInvalidSpec), func(o *contract.Observation) { o.ObservedGeneration = 0 }),
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range conditions.Compute(fresh(o)).Conditions {
				want := o.ObservedGeneration
				if slices.Contains(pinned, c.Type) {
					want = 2
				}
				if c.ObservedGeneration != want {
					t.Errorf("%s has observedGeneration %d, want %d", c.Type, c.ObservedGeneration, want)
				}
			}
		})
	}
}
