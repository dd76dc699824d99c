package status

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

func warned(reason, message string, after time.Duration, change ...func(*corev1.Event)) corev1.Event {
	e := corev1.Event{Reason: reason, Message: message, LastTimestamp: metav1.NewTime(now.Add(after))}
	for _, c := range change {
		c(&e)
	}
	return e
}

// Specification 001, "StatefulSet event propagation".
func TestLatestWarningText(t *testing.T) {
	series := func(n int32) func(*corev1.Event) {
		return func(e *corev1.Event) {
			e.LastTimestamp = metav1.Time{}
			e.Series = &corev1.EventSeries{Count: n, LastObservedTime: metav1.NewMicroTime(now.Add(time.Hour))}
		}
	}
	cases := map[string]struct {
		events []corev1.Event
		want   Warning
	}{
		"no event": {nil, Warning{}},
		"an event without a message is passed over": {
			[]corev1.Event{warned("FailedCreate", "quota", 0), warned("Other", " ", time.Minute)},
			Warning{Reason: "FailedCreate", Message: "StatefulSet shop-g0: quota", Cause: "quota"},
		},
		"the newest wins": {
			[]corev1.Event{warned("FailedCreate", "new", time.Minute), warned("FailedCreate", "old", 0)},
			Warning{Reason: "FailedCreate", Message: "StatefulSet shop-g0: new", Cause: "new"},
		},
		"a count is shown from two on": {
			[]corev1.Event{warned("FailedCreate", "quota", 0, func(e *corev1.Event) { e.Count = 7 })},
			Warning{Reason: "FailedCreate", Message: "StatefulSet shop-g0: quota (x7)", Cause: "quota"},
		},
		"a series has its own time and count": {
			[]corev1.Event{warned("FailedCreate", "late", time.Minute), warned("FailedCreate", "series", 0, series(3))},
			Warning{Reason: "FailedCreate", Message: "StatefulSet shop-g0: series (x3)", Cause: "series"},
		},
		"an event of the new kind has its time elsewhere": {
			[]corev1.Event{warned("FailedCreate", "old", 0), warned("FailedCreate", "new", 0, func(e *corev1.Event) {
				e.LastTimestamp, e.EventTime = metav1.Time{}, metav1.NewMicroTime(now.Add(time.Minute))
			})},
			Warning{Reason: "FailedCreate", Message: "StatefulSet shop-g0: new", Cause: "new"},
		},
		"a reason that no condition may have": {
			[]corev1.Event{warned("failed create!", "quota", 0)}, Warning{Reason: "StatefulSetWarning", Message: "StatefulSet shop-g0: quota", Cause: "quota"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, WarningOf("shop-g0", tc.events)); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
	long := WarningOf("shop-g0", []corev1.Event{warned("FailedCreate", strings.Repeat("é", 2000), 0)})
	if len(long.Message) > 1024 || strings.ContainsRune(long.Message, '�') {
		t.Errorf("a long message became %d bytes, or lost half a character", len(long.Message))
	}
}

// A warning replaces only reasons without details.
func TestWarningRefinesRollingAndPodsNotReady(t *testing.T) {
	cases := map[string]struct {
		change func(*Engine)
		reason string
	}{
		"a rollout":            {func(p *Engine) { p.Plan.Next.Phase = v1alpha1.PhaseCreating }, "FailedCreate"},
		"missing pods":         {func(p *Engine) { p.PodsReady = 1 }, "FailedCreate"},
		"a failed drain check": {func(p *Engine) { p.Plan.Next.Phase = v1alpha1.PhaseDraining; p.DrainError = "x" }, "DrainCheckFailing"},
		"a missing instance":   {func(p *Engine) { p.InstanceError = "gone" }, "InstanceNotReady"},
		"a healthy engine":     {func(*Engine) {}, "EngineReady"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := stable()
			p.Warning = Warning{Reason: "FailedCreate", Message: "StatefulSet shop-g0: quota"}
			tc.change(&p)
			out := p.Next(now)
			if c := meta.FindStatusCondition(out.Conditions, v1alpha1.ConditionReady); c.Reason != tc.reason {
				t.Fatalf("Ready has reason %s, want %s", c.Reason, tc.reason)
			}
		})
	}
}
