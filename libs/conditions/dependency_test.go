package conditions_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func withDependencies(o *contract.Observation) {
	o.Dependencies = []contract.Dependency{
		{Kind: "FireboltInstance", Name: "east", Message: "The metadata service has no endpoint."},
		{Kind: "FireboltEngineClass", Name: "big", Ready: true},
	}
}

// A dependency is separate from the object's own health: Degraded and the evidence name
// it, and the other conditions do not depend on it.
func TestDependencyAffectsOnlyDegraded(t *testing.T) {
	const evidence = "Dependency: FireboltInstance east is not ready. The metadata service has no endpoint."
	t.Run("without another failure", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, healthy())
		r := h.compute(0, healthy(withDependencies))
		want := allGood
		want.Degraded, want.Upgradable = "False/WithinTolerance", "False/DependencyUnavailable"
		compare(t, want, r)
		r = h.compute(conditions.MissingReplicasHold, healthy(withDependencies))
		want.Degraded, want.Upgradable, want.Ready = "True/DependencyUnavailable", "False/Degraded", "False/Degraded"
		compare(t, want, r)
		if got, want := conditionOf(t, r, conditions.TypeDegraded).Message, "FireboltInstance east is not ready. The metadata service has no endpoint."; got != want {
			t.Errorf("message %q, want %q", got, want)
		}
		if diff := cmp.Diff([]string{evidence}, r.Evidence); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	})
	t.Run("with a failure of its own, which gives the reason", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, healthy())
		h.compute(0, healthy(withDependencies, units(unit("web", available(1)))))
		r := h.compute(conditions.MissingReplicasHold, healthy(withDependencies, units(unit("web", available(1)))))
		compare(t, statuses{Available: "False/InsufficientReplicas", Degraded: "True/InsufficientReplicas"}, r)
		if diff := cmp.Diff([]string{"web has 1 of 2 replicas available.", evidence}, r.Evidence); diff != "" {
			t.Errorf("evidence (-want +got):\n%s", diff)
		}
	})
	t.Run("not after the last pod was stopped", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, healthy())
		unstopped := units(unit("web", func(u *contract.Unit) { u.Desired = 0 }))
		h.compute(0, healthy(withDependencies, stopping, unstopped))
		r := h.compute(conditions.MissingReplicasHold, healthy(withDependencies, stopping, unstopped))
		compare(t, statuses{Stopped: "False/Stopping", Degraded: "True/DependencyUnavailable"}, r)
		stoppedUnits := units(unit("web", zero))
		compare(t, statuses{Degraded: "True/Recovering"}, h.compute(0, healthy(withDependencies, stopping, stoppedUnits)))
		r = h.compute(conditions.RecoveryHold, healthy(withDependencies, stopping, stoppedUnits))
		compare(t, statuses{Stopped: "True/Stopped", Degraded: "False/Stopped", Available: "False/Stopped"}, r)
		r = h.compute(conditions.MissingReplicasHold, healthy(withDependencies, stopping, stoppedUnits))
		compare(t, statuses{Degraded: "False/Stopped"}, r)
		if len(r.Evidence) != 0 {
			t.Errorf("evidence %q", r.Evidence)
		}
	})
	t.Run("the dependency recovers", func(t *testing.T) {
		h := newHistory(t)
		h.compute(0, healthy(withDependencies))
		h.compute(conditions.MissingReplicasHold, healthy(withDependencies))
		compare(t, statuses{Degraded: "True/Recovering", Available: allGood.Available}, h.compute(0, healthy()))
		compare(t, allGood, h.compute(conditions.RecoveryHold, healthy()))
	})
}

func TestEvidenceKeepsDependency(t *testing.T) {
	var many []contract.Unit
	for i := range 2 * conditions.MaxEvidence {
		many = append(many, unit(fmt.Sprintf("u%02d", i), failing(contract.FailureCrashLoop, 1)))
	}
	evidence := conditions.Compute(fresh(healthy(withDependencies, units(many...)))).Evidence
	if len(evidence) != conditions.MaxEvidence || !slices.ContainsFunc(evidence, func(e string) bool { return e[:11] == "Dependency:" }) {
		t.Errorf("evidence is %q", evidence)
	}
}
