// Package await decides whether a resource has reached what a user waits for, and if not, what is missing.
//
// It is never early: an answer counts only when it speaks of the newest spec. A condition must carry an
// observedGeneration of at least metadata.generation (its own, else that of the status); a phase or a version counts
// only when the status as a whole has caught up. A resource that names no generation at all is never there.
package await

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

// Goal is what a user waits for.
type Goal struct {
	of   subject
	name string // type of the condition
	want string
}

// Parse reads the value of --for: condition=Type, condition=Type=Status, phase=Phase or deployed-version=Version.
func Parse(text string) (Goal, error) {
	of, rest, _ := strings.Cut(text, "=")
	if rest == "" {
		return Goal{}, fmt.Errorf("--for=%q: want condition=TYPE[=STATUS], phase=PHASE or deployed-version=VERSION", text)
	}
	switch subject(of) {
	case condition:
		name, want, given := strings.Cut(rest, "=")
		if !given {
			want = "True"
		}
		if name == "" || want == "" {
			return Goal{}, fmt.Errorf("--for=%q: want condition=TYPE[=STATUS]", text)
		}
		return Condition(name, want), nil
	case phase, version:
		return Goal{of: subject(of), want: rest}, nil
	}
	return Goal{}, fmt.Errorf("--for=%q: %q is not one of condition, phase and deployed-version", text, of)
}

// Condition is the goal that a condition has a status.
func Condition(conditionType, status string) Goal {
	return Goal{of: condition, name: conditionType, want: status}
}

// String describes the goal for people, for example "condition Available=True".
func (g Goal) String() string {
	if g.of == condition {
		return "condition " + g.name + "=" + g.want
	}
	return strings.ReplaceAll(string(g.of), "-", " ") + " " + g.want
}

// Unknown returns a note for a resource whose status names conditions, but none of the type that is waited for: a typing
// error would else be waited for in silence. It is empty otherwise, since a condition may also come later.
func (g Goal) Unknown(r view.Resource) string {
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

// Missing returns what the resource lacks to reach the goal, empty when it is there.
func (g Goal) Missing(r view.Resource) string {
	switch g.of {
	case condition:
		return g.missingCondition(r)
	case phase:
		return g.missingPhase(r)
	default:
		return g.missingVersion(r)
	}
}

func (g Goal) missingCondition(r view.Resource) string {
	c, ok := r.Condition(g.name)
	switch {
	case !ok:
		return fmt.Sprintf("there is no condition %s", g.name)
	case !strings.EqualFold(c.Status, g.want):
		return fmt.Sprintf("condition %s is %s (%s)", c.Type, c.Status, sentence(c))
	}
	return lag(fmt.Sprintf("condition %s is %s but", c.Type, c.Status), r.CoveredBy(c), r.Generation)
}

func (g Goal) missingPhase(r view.Resource) string {
	if !strings.EqualFold(r.Phase, g.want) {
		return fmt.Sprintf("the phase is %q", r.Phase)
	}
	return lag(fmt.Sprintf("the phase is %s but", r.Phase), phaseGeneration(r), r.Generation)
}

// phaseGeneration is the generation that the phase speaks of. An engine's status claims a generation only once it is
// rolled out, so on the way there its Ready, which the operator writes together with the phase, says what it works on.
// At rest only the claim counts: an engine whose rollout has not begun rests too.
func phaseGeneration(r view.Resource) int64 {
	atRest := r.Phase == "stable" || r.Phase == "stopped"
	if ready, ok := r.Condition("Ready"); ok && r.Kind == contract.FireboltEngine && !atRest {
		return max(r.ObservedGeneration, ready.ObservedGeneration)
	}
	return r.ObservedGeneration
}

func (g Goal) missingVersion(r view.Resource) string {
	if r.DeployedVersion != g.want && view.Tag(r.DeployedVersion) != g.want {
		return fmt.Sprintf("the deployed version is %q", r.DeployedVersion)
	}
	return lag(fmt.Sprintf("the deployed version is %s but", r.DeployedVersion), r.ObservedGeneration, r.Generation)
}

// lag says how far an answer is behind the spec, empty when it is not.
func lag(what string, covered, generation int64) string {
	switch {
	case covered >= generation && covered > 0:
		return ""
	case covered == 0:
		return what + " does not say of which generation of the spec"
	}
	return fmt.Sprintf("%s speaks of generation %d of the spec, which is at %d", what, covered, generation)
}

func sentence(c contract.Condition) string {
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}
