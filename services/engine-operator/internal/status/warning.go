package status

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// Warning describes why an engine is stuck, for the message of its Ready: a Warning event of its
// StatefulSet, or the API server's rejection of the rendered object.
type Warning struct {
	Reason, Message string
	// Cause is the API server's response to the creation of a pod, without the parts that differ between
	// attempts.
	Cause string
	// Generation is the generation of the StatefulSet.
	Generation int64
	// Terminal is true when only a change of the spec clears the failure.
	Terminal bool
}

// reasonWarning replaces an event's reason that is not a valid condition reason.
const reasonWarning = "StatefulSetWarning"

var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// WarningOf returns the newest of the Warning events of a StatefulSet (specification 001,
// "StatefulSet event propagation"). Events without a message are skipped.
func WarningOf(statefulSet string, events []corev1.Event) Warning {
	e := workload.NewestEvent(slices.DeleteFunc(slices.Clone(events), func(e corev1.Event) bool { return strings.TrimSpace(e.Message) == "" }))
	if e == nil {
		return Warning{}
	}
	out := Warning{Reason: e.Reason, Cause: workload.CreateFailure(e.Message), Message: fmt.Sprintf("StatefulSet %s: %s", statefulSet, strings.TrimSpace(e.Message))}
	if !conditionReason.MatchString(out.Reason) {
		out.Reason = reasonWarning
	}
	if count, _ := workload.Occurrences(e); count > 1 {
		out.Message += fmt.Sprintf(" (x%d)", count)
	}
	out.Message = contract.Text(out.Message)
	return out
}
