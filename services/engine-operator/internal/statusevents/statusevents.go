package statusevents

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// Event is one Kubernetes event.
type Event struct {
	Warning         bool
	Reason, Message string
}

// list collects the events of one write. The first event of a reason wins: a
// condition and a transition with the same reason report the same change.
type list []Event

func (l *list) normal(reason, format string, args ...any) { l.add(false, reason, format, args...) }

func (l *list) warning(reason, message string) { l.add(true, reason, "%s", message) }

func (l *list) add(warning bool, reason, format string, args ...any) {
	if slices.ContainsFunc(*l, func(e Event) bool { return e.Reason == reason }) {
		return
	}
	*l = append(*l, Event{Warning: warning, Reason: reason, Message: contract.Text(strings.TrimSpace(fmt.Sprintf(format, args...)))})
}

// contains reports whether an event already contains the text.
func (l *list) contains(text string) bool {
	return text != "" && slices.ContainsFunc(*l, func(e Event) bool { return strings.Contains(e.Message, text) })
}

// find returns a condition; an absent one has neither status nor reason.
func find(conditions []metav1.Condition, kind string) metav1.Condition {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// becameTrue returns the condition after the write if it has the status now, and had another status
// or reason before.
func becameTrue(before, after []metav1.Condition, kind string, status metav1.ConditionStatus) (metav1.Condition, bool) {
	prev, cur := find(before, kind), find(after, kind)
	return cur, cur.Status == status && (prev.Status != status || prev.Reason != cur.Reason)
}

// orElse returns s, or other if s is empty.
func orElse[T ~string](s T, other string) string {
	if s == "" {
		return other
	}
	return string(s)
}

// formatDuration formats a duration; its ends have a precision of one second.
func formatDuration(from *time.Time, to time.Time) string {
	if from == nil || to.IsZero() {
		return ""
	}
	return fmt.Sprintf(" after %s", max(to.Sub(*from), 0).Round(time.Second))
}
