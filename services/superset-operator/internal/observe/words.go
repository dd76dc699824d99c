package observe

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/redact"
)

// Limits of what a failed task leaves in the status.
const (
	maxMessage  = 256
	maxLogLines = 10
	maxLogBytes = 1024
	// cutLog is how long a termination message from the log at least is when the kubelet had to leave out its beginning:
	// 2048 bytes, less those of characters that were cut in half.
	cutLog = 2040
)

// ending is how the pod of a failed task ended, as far as it is known.
type ending struct {
	// code is that of the container that failed; nil when none is known to have.
	code *int32
	// how says it in words, line is what the container had to say about it, tail the lines that it printed last.
	how, line, tail string
}

// howItEnded reads the status of a task's pod. What the container printed comes from the termination message, which
// falls back to the log, so that the operator needs no right to read logs.
func howItEnded(pods []corev1.Pod) ending {
	for i := range pods {
		status := &pods[i].Status
		for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
			t := c.State.Terminated
			if t == nil || t.ExitCode == 0 {
				continue
			}
			code := t.ExitCode // the pod is that of the cache
			end := ending{code: &code, how: fmt.Sprintf("container %q ended with exit code %d", c.Name, t.ExitCode)}
			if t.Reason != "" && t.Reason != "Error" {
				end.how += " (" + t.Reason + ")"
			}
			said := whole(t.Message)
			end.line, end.tail = telling(redact.Lines(said, len(said), len(said))), redact.Lines(said, maxLogLines, maxLogBytes)
			return end
		}
		if status.Phase == corev1.PodFailed && status.Reason != "" {
			return ending{how: "the pod failed: " + status.Reason, line: status.Message}
		}
	}
	return ending{}
}

// message is why a Job failed. That no attempt is left is true of each one: what is worth a line is how the only
// attempt ended. A deadline that passed is the cause itself, whatever the container said when it was ended.
func (e ending) message(c *batchv1.JobCondition) string {
	first, second := c.Reason, c.Message
	if e.how != "" && c.Reason == batchv1.JobReasonBackoffLimitExceeded {
		first, second = e.how, e.line
	}
	if second != "" {
		first += ": " + second
	}
	return redact.Line(first, maxMessage)
}

// whole leaves out the line that the kubelet may have cut: a secret whose key is gone would not be known as one.
func whole(message string) string {
	if len(message) < cutLog {
		return message
	}
	_, rest, _ := strings.Cut(message, "\n")
	return rest
}

// asides are how lines begin that follow the one which tells the cause: those of PostgreSQL and SQLAlchemy.
var asides = []string{" ", "\t", "[", "(", "LINE ", "DETAIL:", "HINT:", "CONTEXT:", "STATEMENT:", "QUERY:"}

// telling returns the last line that is none of the asides, or else the last one of all.
func telling(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \t\n"), "\n")
	for _, line := range slices.Backward(lines) {
		aside := func(start string) bool { return strings.HasPrefix(line, start) }
		if line != "" && !slices.ContainsFunc(asides, aside) {
			return line
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
