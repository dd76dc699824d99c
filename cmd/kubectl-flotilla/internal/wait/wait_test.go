package wait_test

import (
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/wait"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

func resource(kind contract.Kind, generation, observed int64, phase string, conditions ...contract.Condition) view.Resource {
	return view.Resource{
		Kind: kind, Generation: generation, ObservedGeneration: observed, Phase: phase,
		DeployedVersion: "ghcr.io/x/engine:2.1.0", Conditions: conditions,
	}
}

func condition(conditionType, status string, generation int64) contract.Condition {
	return contract.Condition{Type: conditionType, Status: status, Reason: "Why", ObservedGeneration: generation}
}

func TestMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		criterion string
		r         view.Resource
		want      string // empty: there
	}{
		"a condition of the latest spec":      {"condition=Available", resource("superset", 4, 4, "", condition("Available", "True", 4)), ""},
		"a condition in another case":         {"condition=available=true", resource("superset", 4, 4, "", condition("Available", "True", 4)), ""},
		"a condition of an older spec":        {"condition=Available", resource("superset", 4, 4, "", condition("Available", "True", 3)), "observed generation 3, want 4"},
		"a condition without a generation":    {"condition=Available", resource("superset", 4, 4, "", condition("Available", "True", 0)), ""},
		"a condition of a stale status":       {"condition=Available", resource("superset", 4, 3, "", condition("Available", "True", 0)), "observed generation 3"},
		"a condition of a status without it":  {"condition=Available", resource("superset", 4, 0, "", condition("Available", "True", 0)), "has no observed generation"},
		"a condition ahead of its status":     {"condition=Available", resource("superset", 4, 3, "", condition("Available", "True", 4)), ""},
		"another status":                      {"condition=Available", resource("superset", 4, 4, "", condition("Available", "False", 4)), "condition Available is False (Why)"},
		"False as a criterion":                {"condition=Degraded=False", resource("superset", 4, 4, "", condition("Degraded", "False", 4)), ""},
		"Unknown is not False":                {"condition=Degraded=False", resource("superset", 4, 4, "", condition("Degraded", "Unknown", 4)), "is Unknown"},
		"no such condition":                   {"condition=Ready", resource("superset", 4, 4, ""), "there is no condition Ready"},
		"a phase":                             {"phase=Running", resource("superset", 4, 4, "Running"), ""},
		"another phase":                       {"phase=Running", resource("superset", 4, 4, "Degraded"), `the phase is "Degraded"`},
		"a phase of an older spec":            {"phase=Running", resource("superset", 4, 3, "Running", condition("Ready", "True", 4)), "observed generation 3"},
		"an engine during a rollout":          {"phase=creating", resource(contract.FireboltEngine, 4, 3, "creating", condition("Ready", "False", 4)), ""},
		"an engine rolling out an older spec": {"phase=creating", resource(contract.FireboltEngine, 5, 3, "creating", condition("Ready", "False", 4)), "observed generation 4"},
		"an engine before its rollout":        {"phase=stable", resource(contract.FireboltEngine, 4, 3, "stable", condition("Ready", "True", 4)), "observed generation 3"},
		"an engine after its rollout":         {"phase=stable", resource(contract.FireboltEngine, 4, 4, "stable", condition("Ready", "True", 4)), ""},
		"a version":                           {"deployed-version=ghcr.io/x/engine:2.1.0", resource(contract.FireboltEngine, 4, 4, ""), ""},
		"a version by its tag":                {"deployed-version=2.1.0", resource(contract.FireboltEngine, 4, 4, ""), ""},
		"another version":                     {"deployed-version=2.1", resource(contract.FireboltEngine, 4, 4, ""), `is "ghcr.io/x/engine:2.1.0"`},
		"a version of an older spec":          {"deployed-version=2.1.0", resource(contract.FireboltEngine, 4, 3, ""), "observed generation 3"},
	} {
		t.Run(name, func(t *testing.T) {
			criterion, err := wait.Parse(tc.criterion)
			if err != nil {
				t.Fatal(err)
			}
			if got := criterion.Missing(tc.r); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("missing %q, want %q", got, tc.want)
			}
		})
	}
}

func TestParseRejectsInvalidCriterion(t *testing.T) {
	for _, text := range []string{"", "condition", "condition=", "condition==True", "condition=Available=", "phase=", "delete=true", "jsonpath={.status}=x"} {
		if criterion, err := wait.Parse(text); err == nil {
			t.Errorf("%q became %q", text, criterion)
		}
	}
}
