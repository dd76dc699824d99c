package statusevents

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions/transition"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

var baseTime = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return baseTime.Add(time.Duration(n) * time.Second) }

func timeAt(n int) *metav1.Time { return &metav1.Time{Time: second(n)} }

// edit changes a status.
type edit func(*v1alpha1.FireboltEngineStatus)

// to enters a phase, like the status writer.
func to(p v1alpha1.EnginePhase, at int, reason, message string) edit {
	return func(s *v1alpha1.FireboltEngineStatus) {
		s.Phase = p
		s.Transitions = transition.Append(s.Transitions, string(p), reason, message, second(at))
	}
}

func generations(current, active int64) edit {
	return func(s *v1alpha1.FireboltEngineStatus) { s.CurrentGeneration, s.ActiveGeneration = current, active }
}

func drainsOld(n int64) edit {
	return func(s *v1alpha1.FireboltEngineStatus) { s.DrainingGeneration = new(n) }
}

func startedAt(n int) edit {
	return func(s *v1alpha1.FireboltEngineStatus) { s.RolloutStartedAt = timeAt(n) }
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) edit {
	return func(s *v1alpha1.FireboltEngineStatus) {
		s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool { return c.Type == kind })
		s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
	}
}

func ready(reason, message string) edit {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonEngineReady {
		status = metav1.ConditionTrue
	}
	return condition(v1alpha1.ConditionReady, status, reason, message)
}

// engineWith returns an engine with an edited status.
func engineWith(base *v1alpha1.FireboltEngine, edits ...edit) *v1alpha1.FireboltEngine {
	e := &v1alpha1.FireboltEngine{Status: v1alpha1.FireboltEngineStatus{ActiveGeneration: -1}}
	if base != nil {
		e = base.DeepCopy()
	}
	for _, change := range edits {
		change(&e.Status)
	}
	return e
}

var (
	stable   = engineWith(nil, to(v1alpha1.PhaseStable, 0, "Switched", ""), generations(4, 4), ready(v1alpha1.ReasonEngineReady, ""))
	creating = engineWith(stable, to(v1alpha1.PhaseCreating, 10, "SpecChanged", "Generation 4 differs from the spec."), generations(5, 4), startedAt(10),
		ready(v1alpha1.ReasonRolling, "The engine is in phase creating."))
	draining5 = engineWith(creating, to(v1alpha1.PhaseSwitching, 20, "PodsReady", ""), to(v1alpha1.PhaseDraining, 21, "Switched", ""), generations(5, 5), drainsOld(4),
		ready(v1alpha1.ReasonRolling, ""))
	cleaning = engineWith(draining5, to(v1alpha1.PhaseCleaning, 30, "Drained", ""))
	failing  = engineWith(draining5, ready(v1alpha1.ReasonDrainCheckFailing, "Generation 4 cannot be queried."))
)

func end(s *v1alpha1.FireboltEngineStatus) { s.RolloutStartedAt, s.DrainingGeneration = nil, nil }

// eventRow has the events of a change.
type eventRow struct {
	before *v1alpha1.FireboltEngine
	after  *v1alpha1.FireboltEngine
	want   []Event
}

func checkEvents(t *testing.T, rows map[string]eventRow) {
	t.Helper()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Engine(tc.before, tc.after)); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			if repeated := Engine(tc.after, tc.after); len(repeated) > 0 {
				t.Errorf("reported again: %+v", repeated)
			}
		})
	}
}

func TestEventsOfRollouts(t *testing.T) {
	checkEvents(t, map[string]eventRow{
		"an engine is new": {
			engineWith(nil), engineWith(nil, to(v1alpha1.PhaseCreating, 0, v1alpha1.ReasonInitializing, "The engine is new."), generations(0, -1), ready(v1alpha1.ReasonInitializing, "")),
			[]Event{{Reason: "Initializing", Message: "Phase creating, was none, generation 0. The engine is new. The rollout of generation 0 begins."}},
		},
		"a rollout begins": {
			stable, creating,
			[]Event{{Reason: "SpecChanged", Message: "Phase creating, was stable, generation 5. Generation 4 differs from the spec. The rollout of generation 5 begins."}},
		},
		"a rollout begins because the serving StatefulSet was deleted": {
			stable, engineWith(stable, to(v1alpha1.PhaseCreating, 9, "StatefulSetMissing", "The StatefulSet of generation 4 was deleted."), generations(5, 4), startedAt(9)),
			[]Event{{Warning: true, Reason: "StatefulSetMissing", Message: "Phase creating, was stable, generation 5. The StatefulSet of generation 4 was deleted. The rollout of generation 5 begins."}},
		},
		"a rollout completes": {
			cleaning, engineWith(cleaning, to(v1alpha1.PhaseStable, 40, "RolledOut", "Generation 5 serves; generation 4 was removed."), end, ready(v1alpha1.ReasonEngineReady, "")),
			[]Event{{Reason: "RolledOut", Message: "Phase stable, was cleaning, generation 5. Generation 5 serves; generation 4 was removed. The rollout of generation 5 is complete after 30s."}},
		},
		"a generation is abandoned for a newer one": {
			creating, engineWith(creating, generations(6, 4), startedAt(70)),
			[]Event{{Reason: "RolloutAbandoned", Message: "Generation 5 was abandoned after 1m0s before it served; the rollout of generation 6 started."}},
		},
		"the spec is reverted": {
			creating, engineWith(creating, to(v1alpha1.PhaseStable, 15, "Reverted", "Generation 4 matches the spec again."), generations(4, 4), end),
			[]Event{{Reason: "Reverted", Message: "Phase stable, was creating, generation 4. Generation 4 matches the spec again. The rollout of generation 5 was reverted after 5s."}},
		},
		"an overdue generation is rolled back": {
			creating, engineWith(creating, to(v1alpha1.PhaseStable, 70, "RolledBack", "Generation 5 is not ready in time."), generations(4, 4), end,
				func(s *v1alpha1.FireboltEngineStatus) { s.RejectedRendering = "abc" },
				condition(v1alpha1.ConditionRolledBack, metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded, "")),
			[]Event{{Warning: true, Reason: "RolledBack", Message: "Phase stable, was creating, generation 4. Generation 5 is not ready in time. The rollout of generation 5 was rolled back after 1m0s."}},
		},
		"a rollout becomes overdue": {
			creating, engineWith(creating, condition(v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded, "Generation 5 is not ready within 15m.")),
			[]Event{{Warning: true, Reason: "ProgressDeadlineExceeded", Message: "Generation 5 is not ready within 15m."}},
		},
	})
}

func TestEventsOfDrains(t *testing.T) {
	checkEvents(t, map[string]eventRow{
		"the drain timeout of the old generation expires, in condition and transition": {
			draining5, engineWith(draining5, to(v1alpha1.PhaseCleaning, 90, v1alpha1.ReasonDrainTimeoutExceeded, "Generation 4 goes with its queries."),
				condition(v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue, v1alpha1.ReasonDrainTimeoutExceeded, "Generation 4 goes with its queries.")),
			[]Event{{Warning: true, Reason: "DrainTimeoutExceeded", Message: "Phase cleaning, was draining, generation 5. Generation 4 goes with its queries."}},
		},
		"the drain check fails": {
			draining5, failing, []Event{{Warning: true, Reason: "DrainCheckFailing", Message: "Generation 4 cannot be queried."}},
		},
		"the drain check recovers": {
			failing, engineWith(failing, ready(v1alpha1.ReasonRolling, "")),
			[]Event{{Reason: "DrainCheckRecovered", Message: "The drain check of generation 4 succeeds again."}},
		},
		"the drain check recovers and finds no query": {
			failing, engineWith(failing, to(v1alpha1.PhaseCleaning, 50, "Drained", ""), ready(v1alpha1.ReasonRolling, "")),
			[]Event{
				{Reason: "Drained", Message: "Phase cleaning, was draining, generation 5."},
				{Reason: "DrainCheckRecovered", Message: "The drain check of generation 4 succeeds again."},
			},
		},
		"the failing drain check is disabled": {
			failing, engineWith(failing, to(v1alpha1.PhaseCleaning, 50, "DrainSkipped", ""), ready(v1alpha1.ReasonRolling, "")),
			[]Event{{Reason: "DrainSkipped", Message: "Phase cleaning, was draining, generation 5."}},
		},
		"the failing drain check is hidden by a more severe reason": {
			failing, engineWith(failing, ready(v1alpha1.ReasonInstanceNotReady, "No instance.")),
			[]Event{{Warning: true, Reason: "InstanceNotReady", Message: "No instance."}},
		},
	})
}

func TestEventsOfReadyReasons(t *testing.T) {
	checkEvents(t, map[string]eventRow{
		"a template is rejected": {
			stable, engineWith(stable, ready(v1alpha1.ReasonTemplateRejected, "spec.template.spec.hostNetwork")),
			[]Event{{Warning: true, Reason: "TemplateRejected", Message: "spec.template.spec.hostNetwork"}},
		},
		"bounds are exceeded": {
			stable, engineWith(stable, ready(v1alpha1.ReasonBoundsExceeded, "cpu")),
			[]Event{{Warning: true, Reason: "ResourceBoundsExceeded", Message: "cpu"}},
		},
		"the class is deleted": {
			stable, engineWith(stable, ready(v1alpha1.ReasonEngineClassUnready, "FireboltEngineClass \"c\" does not exist.")),
			[]Event{{Warning: true, Reason: "FireboltEngineClassUnready", Message: "FireboltEngineClass \"c\" does not exist."}},
		},
		"a foreign finalizer holds a child": {
			stable, engineWith(stable, ready(v1alpha1.ReasonExternalFinalizer, "StatefulSet e-g4")),
			[]Event{{Warning: true, Reason: "ExternalFinalizerOnOwnedResource", Message: "StatefulSet e-g4"}},
		},
		"pods cannot be created": {
			creating, engineWith(creating, ready("FailedCreate", "StatefulSet e-g5: exceeded quota (x3)")),
			[]Event{{Warning: true, Reason: "FailedCreate", Message: "StatefulSet e-g5: exceeded quota (x3)"}},
		},
		"pods cannot be created for the tenth time": {
			engineWith(creating, ready("FailedCreate", "StatefulSet e-g5: exceeded quota (x3)")),
			engineWith(creating, ready("FailedCreate", "StatefulSet e-g5: exceeded quota (x10)")), nil,
		},
		"a pod restarts":     {stable, engineWith(stable, ready(v1alpha1.ReasonPodsNotReady, "1 of 2")), nil},
		"an engine is ready": {engineWith(stable, ready(v1alpha1.ReasonPodsNotReady, "")), stable, nil},
	})
}

func TestEventsOfOtherChanges(t *testing.T) {
	checkEvents(t, map[string]eventRow{
		"a phase without a reason": {
			stable, engineWith(stable, func(s *v1alpha1.FireboltEngineStatus) { s.Phase = v1alpha1.PhaseStopped }),
			[]Event{{Reason: "PhaseChanged", Message: "Phase stopped, was stable, generation 4."}},
		},
		"an unknown phase is replaced by the last recorded one": {
			engineWith(stable, func(s *v1alpha1.FireboltEngineStatus) { s.Phase = "resting" }), stable,
			[]Event{{Reason: "PhaseChanged", Message: "Phase stable, was resting, generation 4."}},
		},
	})
}

func TestNotesFitEventLimit(t *testing.T) {
	for _, filler := range []string{"é", "世", "x", "\xffx"} {
		long := strings.Repeat(filler, 3000)
		after := engineWith(stable, to(v1alpha1.PhaseCreating, 9, "SpecChanged", long), generations(5, 4),
			ready(v1alpha1.ReasonTemplateRejected, long), condition(v1alpha1.ConditionRolloutOverdue, metav1.ConditionTrue, v1alpha1.ReasonProgressDeadlineExceeded, long))
		got := Engine(stable, after)
		if len(got) != 3 {
			t.Fatalf("%d events", len(got))
		}
		for _, e := range got {
			if len(e.Message) > 1024 || len(e.Message) < 1020 || !utf8.ValidString(e.Message) {
				t.Errorf("%s: a note of %d bytes, valid %v", e.Reason, len(e.Message), utf8.ValidString(e.Message))
			}
		}
	}
}

func TestEventsOmitSpec(t *testing.T) {
	secret := func(e *v1alpha1.FireboltEngine) *v1alpha1.FireboltEngine {
		e = e.DeepCopy()
		e.Annotations = map[string]string{"a": "hunter2"}
		e.Spec.MetadataEndpointOverride = new("hunter2")
		e.Spec.Template = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}},
		}}}}
		return e
	}
	got := Engine(stable, secret(engineWith(creating, ready("FailedCreate", "m"))))
	if len(got) != 2 || strings.Contains(fmt.Sprint(got), "hunter2") {
		t.Errorf("events: %+v", got)
	}
}
