package argocd

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

// combination is a combination of inputs for an object.
type combination struct {
	read, applied   int64 // of generation 3
	command, intent string
	unit, job       string
	refused         bool
	stale           bool
	deleting        bool
	lasts           bool // longer than every hold-down
	wasDegraded     bool
}

func (c combination) String() string { return fmt.Sprint(c.parts()...) }

func (c combination) parts() []any {
	return []any{
		"read", c.read, "applied", c.applied, "wish", c.command, "intent", c.intent, "unit", c.unit, "job", c.job,
		"refused", c.refused, "stale", c.stale, "deleting", c.deleting, "lasts", c.lasts, "wasDegraded", c.wasDegraded,
	}
}

var unitStates = map[string]func(*contract.Observation){
	"well":          func(*contract.Observation) {},
	"rolling":       updated(1),
	"short":         available(1),
	"gone":          available(0),
	"crashing":      func(o *contract.Observation) { available(1)(o); failing(contract.FailureCrashLoop)(o) },
	"unschedulable": func(o *contract.Observation) { updated(1)(o); failing(contract.FailureUnschedulable)(o) },
	"node lost":     func(o *contract.Observation) { available(1)(o); failing(contract.FailureNodeLost)(o) },
	"unrouted":      unit(func(u *contract.Unit) { u.Routed = false }),
	"none":          none,
	"undeclared":    func(o *contract.Observation) { o.Units = nil },
}

// combinations returns the combinations, without redundant ones: if the spec was not observed, other inputs hardly
// matter, and a second cause of failure gives the same result as the first.
func combinations() []combination {
	return slices.DeleteFunc(everyCombination(), func(c combination) bool {
		unread := c.command != c.intent && (c.job != "" || c.refused || c.lasts)
		return unread || c.refused && (c.job != "" || c.unit == "crashing")
	})
}

func everyCombination() []combination {
	var out []combination
	flags := []bool{false, true}
	for _, versions := range [][2]int64{{3, 3}, {3, 2}, {2, 2}} {
		for _, command := range []string{"", "Paused", "Stopped"} {
			for _, intent := range []string{"", "Paused", "Stopped"} {
				for state := range unitStates {
					for _, job := range []string{"", string(contract.JobRunning), string(contract.JobFailed)} {
						for bits := range 1 << 5 {
							flag := func(n int) bool { return flags[bits>>n&1] }
							out = append(out, combination{
								read: versions[0], applied: versions[1], command: command, intent: intent, unit: state, job: job,
								refused: flag(0), stale: flag(1), deleting: flag(2), lasts: flag(3), wasDegraded: flag(4),
							})
						}
					}
				}
			}
		}
	}
	return out
}

func (c combination) apply(s *history) {
	if c.wasDegraded {
		s.see(observed(available(1), failing(contract.FailureCrashLoop)))
		s.after(time.Second)
	}
	s.generation, s.deleting = 3, c.deleting
	if c.command != "" {
		s.annotations = map[string]string{"operator-command": c.command}
	}
	o := observed(generation(c.read, c.applied), unitStates[c.unit])
	o.Intent = contract.Intent{Paused: c.intent == "Paused", Stopped: c.intent == "Stopped"}
	if c.job != "" {
		job(contract.JobState(c.job))(o)
	}
	if c.refused {
		refused(o)
	}
	see := func() {
		s.see(o, func(in *conditions.Input) {
			if c.stale {
				in.Freshness = conditions.ObserverStale
			}
		})
	}
	see()
	if c.lasts {
		s.after(time.Minute)
		see()
		s.after(2 * time.Minute)
		see()
	}
}

// contradiction describes how a health contradicts the conditions. It is empty if they agree.
func (c combination) contradiction(s *history, got health) string {
	is := func(kind string, status metav1.ConditionStatus) bool { return s.condition(kind).Status == status }
	unread := c.read < 3 || c.command != c.intent
	switch {
	case c.deleting:
		return unless(got.status == progressing, "a deletion is progress")
	case c.stale:
		return unless(got.status == unknown, "a stale observer makes the health unknown")
	case unread:
		return unless(got.status == progressing, "the latest generation was not observed")
	case c.intent == "Paused", c.intent == "Stopped" && is("Stopped", "True"):
		return unless(got.status == suspended, "the user requested the pause or stop")
	case c.intent == "Stopped":
		return unless(got.status == progressing, "pods still terminate")
	}
	switch got.status {
	case healthy:
		for _, kind := range []string{"Available", "Progressing", "Degraded"} {
			if s.condition(kind).ObservedGeneration < s.generation {
				return kind + " is of an older generation"
			}
		}
		return unless(is("Available", "True") && is("Progressing", "False") && is("Degraded", "False"), "the conditions are not healthy")
	case degraded:
		return unless(is("Degraded", "True") || is("Available", "False"), "no condition reports a failure")
	case suspended:
		return "no user requested a pause or stop"
	}
	settledFailure := is("Degraded", "True") && is("Progressing", "False") && s.condition("Degraded").Reason != conditions.ReasonRecovering
	return unless(!settledFailure, "a permanent failure is not progress")
}

func unless(holds bool, reason string) string {
	if holds {
		return ""
	}
	return reason
}

func (s *history) condition(kind string) metav1.Condition {
	for _, c := range s.conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

func (s *history) String() string {
	var out strings.Builder
	for _, c := range s.conditions {
		fmt.Fprintf(&out, "  %s=%s/%s of %d: %s\n", c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message)
	}
	return out.String()
}
