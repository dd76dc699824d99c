package conditions_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func needing(o *contract.Observation) {
	o.Dependencies = []contract.Dependency{
		{Kind: "FireboltInstance", Name: "east", Message: "The metadata service has no endpoint."},
		{Kind: "FireboltEngineClass", Name: "big", Ready: true},
	}
}

// A dependency is separate from the object's own health: Degraded and the evidence name
// it, and the other conditions do not depend on it.
func TestDependencyAffectsOnlyDegraded(t *testing.T) {
	const named = "Dependency: FireboltInstance east is not ready. The metadata service has no endpoint."
	t.Run("without another failure", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, healthy())
		r := h.fold(0, healthy(needing))
		want := good
		want.Degraded, want.Upgradable = "False/WithinTolerance", "False/DependencyUnavailable"
		compare(t, want, r)
		r = h.fold(conditions.MissingReplicasHold, healthy(needing))
		want.Degraded, want.Upgradable, want.Ready = "True/DependencyUnavailable", "False/Degraded", "False/Degraded"
		compare(t, want, r)
		if got, want := full(t, r, conditions.TypeDegraded).Message, "FireboltInstance east is not ready."; got != want {
			t.Errorf("message %q, want %q", got, want)
		}
		if diff := cmp.Diff([]string{named}, r.Evidence); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	})
	t.Run("with a failure of its own, which gives the reason", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, healthy())
		h.fold(0, healthy(needing, units(unit("web", available(1)))))
		r := h.fold(conditions.MissingReplicasHold, healthy(needing, units(unit("web", available(1)))))
		compare(t, answers{Available: "False/InsufficientReplicas", Degraded: "True/InsufficientReplicas"}, r)
		if diff := cmp.Diff([]string{"web has 1 of 2 replicas available.", named}, r.Evidence); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	})
	t.Run("not after the last pod was stopped", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, healthy())
		still := units(unit("web", func(u *contract.Unit) { u.Desired = 0 }))
		h.fold(0, healthy(needing, stopping, still))
		r := h.fold(conditions.MissingReplicasHold, healthy(needing, stopping, still))
		compare(t, answers{Stopped: "False/Stopping", Degraded: "True/DependencyUnavailable"}, r)
		gone := units(unit("web", zero))
		compare(t, answers{Degraded: "True/Recovering"}, h.fold(0, healthy(needing, stopping, gone)))
		r = h.fold(conditions.RecoveryHold, healthy(needing, stopping, gone))
		compare(t, answers{Stopped: "True/Stopped", Degraded: "False/Stopped", Available: "False/Stopped"}, r)
		r = h.fold(conditions.MissingReplicasHold, healthy(needing, stopping, gone))
		compare(t, answers{Degraded: "False/Stopped"}, r)
		if len(r.Evidence) != 0 {
			t.Errorf("evidence %q", r.Evidence)
		}
	})
	t.Run("the dependency recovers", func(t *testing.T) {
		h := newHistory(t)
		h.fold(0, healthy(needing))
		h.fold(conditions.MissingReplicasHold, healthy(needing))
		compare(t, answers{Degraded: "True/Recovering", Available: good.Available}, h.fold(0, healthy()))
		compare(t, good, h.fold(conditions.RecoveryHold, healthy()))
	})
}

func TestEvidenceKeepsDependency(t *testing.T) {
	var many []contract.Unit
	for i := range 2 * conditions.MaxEvidence {
		many = append(many, unit(fmt.Sprintf("u%02d", i), failing(contract.FailureCrashLoop, 1)))
	}
	evidence := conditions.Compute(fresh(healthy(needing, units(many...)))).Evidence
	if len(evidence) != conditions.MaxEvidence || !slices.ContainsFunc(evidence, func(e string) bool { return e[:11] == "Dependency:" }) {
		t.Errorf("evidence is %q", evidence)
	}
}
