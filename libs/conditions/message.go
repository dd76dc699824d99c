package conditions

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// MaxMessageBytes is the longest message that the API server accepts in a condition.
const MaxMessageBytes = 32768

// maxNamed is the maximum number of names in a message, which counts further ones.
const maxNamed = 5

// clamp makes a text valid for a condition: UTF-8 without control characters and not too
// long. Otherwise the API server would reject the whole status.
func clamp(text string, limit int) string {
	return contract.Truncate(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text), limit)
}

// sentence joins parts in alphabetical order.
func sentence(parts []string) string {
	slices.Sort(parts)
	if remaining := len(parts) - maxNamed; remaining > 0 {
		parts = append(parts[:maxNamed], fmt.Sprintf("and %d more", remaining))
	}
	return strings.Join(parts, "; ") + "."
}

// list joins names in alphabetical order.
func list(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if remaining := len(names) - maxNamed; remaining > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("%d more", remaining))
	}
	return strings.Join(names, ", ")
}

func names(units []contract.Unit) []string {
	out := make([]string, 0, len(units))
	for _, u := range units {
		out = append(out, u.Name)
	}
	return out
}

// by returns the phrase that names the requester.
func by(requester string) string {
	if requester == "" {
		return ""
	}
	return " by " + requester
}

func detail(message, more string) string {
	if more == "" {
		return message
	}
	return message + " " + more
}

func orElse(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}

// countPods returns a number of pods as text.
func countPods(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func podsLeft(n int) string {
	if n == 1 {
		return "1 pod is left"
	}
	return countPods(n) + " are left"
}

func jobMessage(j contract.Job) string {
	return detail("Task "+j.Name+" failed after the last retry.", j.Message)
}

// reconcileReason returns the observer's reason for a spec that it rejects, if [TerminalReasons] contains it.
func reconcileReason(r contract.Reconcile) string {
	if r.Terminal && slices.Contains(TerminalReasons(), r.Reason) {
		return r.Reason
	}
	return ReasonReconcileError
}

func reconcileMessage(r contract.Reconcile) string {
	if reconcileReason(r) == r.Reason && r.Message != "" {
		return r.Message
	}
	return detail("The last reconcile failed: "+orElse(r.Reason, "error")+".", r.Message)
}
