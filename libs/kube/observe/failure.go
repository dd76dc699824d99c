package observe

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

const (
	maxExamples     = 3
	maxMessageBytes = 1024
)

// order is how failure classes are listed: those that do not heal by waiting first.
var order = []contract.FailureClass{
	contract.FailureCrashLoop, contract.FailureImagePull, contract.FailureConfigError, contract.FailurePodFailed,
	contract.FailureEvicted, contract.FailureOOMKilled, contract.FailureUnschedulable, contract.FailureNodeLost,
}

// waiting maps the reasons for which a container does not start.
var waiting = map[string]contract.FailureClass{
	"CrashLoopBackOff":           contract.FailureCrashLoop,
	"ImagePullBackOff":           contract.FailureImagePull,
	"ErrImagePull":               contract.FailureImagePull,
	"ErrImageNeverPull":          contract.FailureImagePull,
	"InvalidImageName":           contract.FailureImagePull,
	"ImageInspectError":          contract.FailureImagePull,
	"RegistryUnavailable":        contract.FailureImagePull,
	"SignatureValidationFailed":  contract.FailureImagePull,
	"CreateContainerConfigError": contract.FailureConfigError,
	"CreateContainerError":       contract.FailureConfigError,
	"RunContainerError":          contract.FailureConfigError,
	"PreCreateHookError":         contract.FailureConfigError,
	"PreStartHookError":          contract.FailureConfigError,
	"PostStartHookError":         contract.FailureConfigError,
}

// evictions are the reasons with which a node or the scheduler ends a pod.
var evictions = []string{"Evicted", "Preempting", "Preempted", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity"}

// Failures groups the troubles of pods by class, each pod by its worst one. Pods
// that are being deleted are not in trouble, unless their node is lost.
func Failures(pods []corev1.Pod) []contract.Failure {
	byClass := map[contract.FailureClass][]trouble{}
	for i := range pods {
		if class, message := diagnose(&pods[i]); class != "" {
			byClass[class] = append(byClass[class], trouble{pod: pods[i].Name, message: clean(message)})
		}
	}
	var out []contract.Failure
	for _, class := range order {
		if found := byClass[class]; len(found) > 0 {
			out = append(out, summarise(class, found))
		}
	}
	return out
}

type trouble struct{ pod, message string }

func summarise(class contract.FailureClass, found []trouble) contract.Failure {
	slices.SortFunc(found, func(a, b trouble) int { return strings.Compare(a.pod, b.pod) })
	f := contract.Failure{Class: class, Count: int32(len(found)), Message: found[0].message} //nolint:gosec // a list of pods is far shorter than 2^31
	for _, t := range found[:min(len(found), maxExamples)] {
		f.Examples = append(f.Examples, t.pod)
	}
	return f
}

// diagnose returns the class of a pod's trouble, empty if it has none, and one line about it.
func diagnose(p *corev1.Pod) (contract.FailureClass, string) {
	switch {
	case p.Status.Reason == "NodeLost" || p.Status.Phase == corev1.PodUnknown:
		return contract.FailureNodeLost, p.Status.Message
	case p.DeletionTimestamp != nil:
		return "", ""
	case p.Status.Phase == corev1.PodFailed:
		return ended(p)
	case p.Status.Phase == corev1.PodSucceeded:
		return "", ""
	}
	worst, message := contract.FailureClass(""), ""
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		class, text := container(&c)
		if class != "" && (worst == "" || slices.Index(order, class) < slices.Index(order, worst)) {
			worst, message = class, text
		}
	}
	if worst != "" {
		return worst, message
	}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return contract.FailureUnschedulable, c.Message
		}
	}
	return "", ""
}

// ended classifies a pod in phase Failed.
func ended(p *corev1.Pod) (contract.FailureClass, string) {
	if slices.Contains(evictions, p.Status.Reason) {
		return contract.FailureEvicted, p.Status.Message
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if t := c.State.Terminated; t != nil && t.ExitCode != 0 {
			if t.Reason == oomKilled {
				return contract.FailureOOMKilled, exit(c.Name, t)
			}
			return contract.FailurePodFailed, exit(c.Name, t)
		}
	}
	return contract.FailurePodFailed, strings.TrimSpace(p.Status.Reason + " " + p.Status.Message)
}

const oomKilled = "OOMKilled"

// container classifies a container of a pod that has not ended.
func container(c *corev1.ContainerStatus) (contract.FailureClass, string) {
	last := c.LastTerminationState.Terminated
	if w := c.State.Waiting; w != nil {
		class := waiting[w.Reason]
		switch {
		case class == contract.FailureCrashLoop && last != nil:
			return class, exit(c.Name, last)
		case class != "":
			return class, fmt.Sprintf("container %q: %s: %s", c.Name, w.Reason, w.Message)
		}
	}
	if now := c.State.Terminated; now != nil && now.Reason == oomKilled {
		return contract.FailureOOMKilled, exit(c.Name, now)
	}
	if !c.Ready && last != nil && last.Reason == oomKilled {
		return contract.FailureOOMKilled, exit(c.Name, last)
	}
	return "", ""
}

// exit describes how a container ended. The termination message is left out: the
// program writes it, and it may hold anything.
func exit(name string, t *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("container %q ended with exit code %d (%s)", name, t.ExitCode, t.Reason)
}

// clean makes one line of at most 1 KiB without control characters.
func clean(s string) string {
	s = strings.Join(strings.FieldsFunc(s, unicode.IsControl), " ")
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if len(s) <= maxMessageBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessageBytes-3], "") + "..."
}
