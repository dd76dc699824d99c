package observe

import (
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/redact"
)

// Limits of the text of a failed task in the status.
const (
	maxMessage  = 256
	maxLogLines = 10
	maxLogBytes = 1024
	// minTruncatedLog is the minimum size of a termination message from the log, in bytes, if the kubelet cut off its
	// beginning: 2048, less those of characters that were cut in half.
	minTruncatedLog = 2040
)

// termination describes how the pod of a failed task terminated. Unknown fields are empty.
type termination struct {
	// code is the exit code of the failed container; nil if no failed one is known.
	code *int32
	// description is how the container terminated, line is the most relevant line of the output, tail its last lines.
	description, line, tail string
}

// readTermination reads the status of a task's pod. The output of the container comes from the termination message, which
// falls back to the log, so that the operator needs no permission to read logs.
func readTermination(pods []corev1.Pod) termination {
	for i := range pods {
		status := &pods[i].Status
		for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
			t := c.State.Terminated
			if t == nil || t.ExitCode == 0 {
				continue
			}
			code := t.ExitCode // a copy, since the pod belongs to the cache
			end := termination{code: &code, description: fmt.Sprintf("container %q ended with exit code %d", c.Name, t.ExitCode)}
			if t.Reason != "" && t.Reason != "Error" {
				end.description += " (" + t.Reason + ")"
			}
			output := dropTruncatedLine(t.Message)
			// A container runtime that cannot start a program prints its own call chain before the cause.
			if _, cause, found := strings.Cut(output, "unable to start container process: "); found {
				output = cause
			}
			end.line, end.tail = causeLine(redact.Lines(output, len(output), len(output))), redact.Lines(output, maxLogLines, maxLogBytes)
			return end
		}
		if status.Phase == corev1.PodFailed && status.Reason != "" {
			return termination{description: "the pod failed: " + status.Reason, line: status.Message}
		}
	}
	return termination{}
}

// message returns why a Job failed. Every failed Job has exceeded its backoff limit, so the message shows how its only
// attempt terminated instead. An exceeded deadline is the cause itself, whatever the container printed.
func (e termination) message(c *batchv1.JobCondition) string {
	first, second := c.Reason, c.Message
	if e.description != "" && c.Reason == batchv1.JobReasonBackoffLimitExceeded {
		first, second = e.description, e.line
	}
	if second != "" {
		first += ": " + second
	}
	return redact.Line(first, maxMessage)
}

// dropTruncatedLine drops the line that the kubelet may have cut: a secret without its key would not be recognized.
func dropTruncatedLine(message string) string {
	if len(message) < minTruncatedLog {
		return message
	}
	_, remaining, _ := strings.Cut(message, "\n")
	return remaining
}

// continuations are prefixes of the lines that PostgreSQL and SQLAlchemy print after the one with the cause.
var continuations = []string{" ", "\t", "[", "(", "LINE ", "DETAIL:", "HINT:", "CONTEXT:", "STATEMENT:", "QUERY:"}

// causeLine returns the last line that is not a continuation, or the last line if all are.
func causeLine(text string) string {
	lines := strings.Split(strings.TrimRight(text, " \t\n"), "\n")
	for _, line := range slices.Backward(lines) {
		continues := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
		if line != "" && !slices.ContainsFunc(continuations, continues) {
			return line
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
