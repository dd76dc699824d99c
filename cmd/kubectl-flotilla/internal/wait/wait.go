// Package wait decides whether a resource meets the criterion of a user, and describes what is missing.
//
// It evaluates only the latest generation of the spec. A condition must have an observedGeneration of at least
// metadata.generation (its own, or that of the status); a phase or a version requires this of the observedGeneration
// of the whole status. A resource without any observed generation never meets a criterion.
package wait

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/cmd/kubectl-flotilla/internal/view"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

type subject string

const (
	condition subject = "condition"
	phase     subject = "phase"
	version   subject = "deployed-version"
)

// Criterion is a state that a user waits for.
type Criterion struct {
	of   subject
	name string // type of the condition
	want string
}

// Parse parses the value of --for: condition=Type, condition=Type=Status, phase=Phase or deployed-version=Version.
func Parse(text string) (Criterion, error) {
	of, value, _ := strings.Cut(text, "=")
	if value == "" {
		return Criterion{}, fmt.Errorf("--for=%q: want condition=TYPE[=STATUS], phase=PHASE or deployed-version=VERSION", text)
	}
	switch subject(of) {
	case condition:
		name, want, found := strings.Cut(value, "=")
		if !found {
			want = "True"
		}
		if name == "" || want == "" {
			return Criterion{}, fmt.Errorf("--for=%q: want condition=TYPE[=STATUS]", text)
		}
		return Condition(name, want), nil
	case phase, version:
		return Criterion{of: subject(of), want: value}, nil
	}
	return Criterion{}, fmt.Errorf("--for=%q: %q is not one of condition, phase and deployed-version", text, of)
}

// Condition returns the criterion that a condition has a status.
func Condition(conditionType, status string) Criterion {
	return Criterion{of: condition, name: conditionType, want: status}
}

// String returns a description of the criterion for users, for example "condition Available=True".
func (g Criterion) String() string {
	if g.of == condition {
		return "condition " + g.name + "=" + g.want
	}
	return strings.ReplaceAll(string(g.of), "-", " ") + " " + g.want
}

// Unknown returns a note if the status has conditions, but not the awaited type: this makes a typing error
// visible. It is not an error, since a condition may appear later.
func (g Criterion) Unknown(r view.Resource) string {
	if _, ok := r.Condition(g.name); g.of != condition || ok || len(r.Conditions) == 0 {
		return ""
	}
	names := make([]string, len(r.Conditions))
	for i, c := range r.Conditions {
		names[i] = c.Type
	}
	slices.Sort(names)
	return fmt.Sprintf("%s has no condition %s; it has %s", r.Ref(), g.name, strings.Join(names, ", "))
}

// Missing describes what the resource lacks to meet the criterion; it is empty if the criterion is met.
func (g Criterion) Missing(r view.Resource) string {
	switch g.of {
	case condition:
		return g.missingCondition(r)
	case phase:
		return g.missingPhase(r)
	default:
		return g.missingVersion(r)
	}
}

func (g Criterion) missingCondition(r view.Resource) string {
	c, ok := r.Condition(g.name)
	switch {
	case !ok:
		return fmt.Sprintf("there is no condition %s", g.name)
	case !strings.EqualFold(c.Status, g.want):
		return fmt.Sprintf("condition %s is %s (%s)", c.Type, c.Status, sentence(c))
	}
	return lag(fmt.Sprintf("condition %s is %s but", c.Type, c.Status), r.ObservedGenerationOf(c), r.Generation)
}

func (g Criterion) missingPhase(r view.Resource) string {
	if !strings.EqualFold(r.Phase, g.want) {
		return fmt.Sprintf("the phase is %q", r.Phase)
	}
	return lag(fmt.Sprintf("the phase is %s but", r.Phase), phaseGeneration(r), r.Generation)
}

// phaseGeneration returns the generation that the phase is valid for. The status of an engine has the latest generation
// only after its rollout; during the rollout its Ready condition, which the operator writes together with the phase,
// has it. In a terminal phase only the status counts: the rollout of the latest generation may not have started.
func phaseGeneration(r view.Resource) int64 {
	terminal := r.Phase == "stable" || r.Phase == "stopped"
	if ready, ok := r.Condition("Ready"); ok && r.Kind == contract.FireboltEngine && !terminal {
		return max(r.ObservedGeneration, ready.ObservedGeneration)
	}
	return r.ObservedGeneration
}

func (g Criterion) missingVersion(r view.Resource) string {
	if r.DeployedVersion != g.want && view.Tag(r.DeployedVersion) != g.want {
		return fmt.Sprintf("the deployed version is %q", r.DeployedVersion)
	}
	return lag(fmt.Sprintf("the deployed version is %s but", r.DeployedVersion), r.ObservedGeneration, r.Generation)
}

// lag describes how far a status is behind the spec; it is empty if the status is current.
func lag(what string, observed, generation int64) string {
	switch {
	case observed >= generation && observed > 0:
		return ""
	case observed == 0:
		return what + " has no observed generation"
	}
	return fmt.Sprintf("%s observed generation %d, want %d", what, observed, generation)
}

func sentence(c contract.Condition) string {
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}
