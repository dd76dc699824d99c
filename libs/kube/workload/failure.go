package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
)

// order is the order of failure classes: those that do not clear by waiting first.
var order = []contract.FailureClass{
	contract.FailureCrashLoop, contract.FailureImagePull, contract.FailureConfigError, contract.FailurePodFailed,
	contract.FailureEvicted, contract.FailureOOMKilled, contract.FailureUnschedulable, contract.FailureNodeLost,
	contract.FailureProbeFailing,
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

// WaitingClass returns the failure class of a container's waiting reason, empty if the
// reason is not a failure, as ContainerCreating.
func WaitingClass(reason string) contract.FailureClass { return waiting[reason] }

// evictions are the reasons with which a node or the scheduler terminates a pod.
var evictions = []string{"Evicted", "Preempting", "Preempted", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity"}

// Failures groups the failures of pods by class, each pod by its worst one. A
// terminating pod is not a failure, unless its node is lost. now is the caller's
// clock, for probes that have failed since the pod started; with the zero time only
// those count that had succeeded before. [ProbesDue] returns when to check again.
func Failures(pods []corev1.Pod, now time.Time) []contract.Failure {
	byClass := map[contract.FailureClass][]podFailure{}
	for i := range pods {
		if class, message := diagnose(&pods[i], now); class != "" {
			byClass[class] = append(byClass[class], podFailure{pod: pods[i].Name, message: clean(message)})
		}
	}
	var out []contract.Failure
	for _, class := range order {
		if found := byClass[class]; len(found) > 0 {
			out = append(out, summarize(class, found))
		}
	}
	return out
}

type podFailure struct{ pod, message string }

func summarize(class contract.FailureClass, found []podFailure) contract.Failure {
	slices.SortFunc(found, func(a, b podFailure) int { return strings.Compare(a.pod, b.pod) })
	f := contract.Failure{Class: class, Count: int32(len(found)), Message: found[0].message} //nolint:gosec // a list of pods is far shorter than 2^31
	for _, t := range found[:min(len(found), contract.MaxExamples)] {
		f.Examples = append(f.Examples, t.pod)
	}
	return f
}

// diagnose returns the class of a pod's failure, empty if it has none, and one line about it.
func diagnose(p *corev1.Pod, now time.Time) (contract.FailureClass, string) {
	if message, lost := nodeLost(p); lost {
		return contract.FailureNodeLost, message
	}
	switch {
	case p.DeletionTimestamp != nil:
		return "", ""
	case p.Status.Phase == corev1.PodFailed:
		return failedPod(p)
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
	if c := condition(p, corev1.PodScheduled); c.Status == corev1.ConditionFalse && slices.Contains(unscheduled, c.Reason) {
		return contract.FailureUnschedulable, c.Message
	}
	if message, failing := probeFailing(p, now); failing {
		return contract.FailureProbeFailing, message
	}
	return "", ""
}

// Changed reports whether the failure class of a pod, or when one is due, differs between
// two states of the pod. A predicate may drop all other updates; the counts of pods come
// from their workload.
func Changed(before, after *corev1.Pod) bool {
	was, _ := diagnose(before, time.Time{})
	is, _ := diagnose(after, time.Time{})
	return was != is || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		!ProbesDue([]corev1.Pod{*before}, time.Time{}).Equal(ProbesDue([]corev1.Pod{*after}, time.Time{}))
}

// unscheduled are the reasons of a pod that the scheduler assigns to no node. A gated pod
// waits at the request of its owner.
var unscheduled = []string{corev1.PodReasonUnschedulable, corev1.PodReasonSchedulerError}

// nodeLost reports whether the pod's node is unreachable. Kubernetes shows it in three
// ways: as the pod's reason, in the name of the node's garbage collector, or by setting
// Ready to False while the containers stay ready. The kubelet itself does the last for
// readiness gates only, and sets a reason then.
func nodeLost(p *corev1.Pod) (string, bool) {
	if p.Status.Reason == "NodeLost" || p.Status.Phase == corev1.PodUnknown {
		return p.Status.Message, true
	}
	target := condition(p, corev1.DisruptionTarget)
	if p.Status.Phase == corev1.PodFailed && target.Status == corev1.ConditionTrue && target.Reason == "DeletionByPodGC" {
		return target.Message, true
	}
	ready, containers := condition(p, corev1.PodReady), condition(p, corev1.ContainersReady)
	if p.Status.Phase == corev1.PodRunning && ready.Type != "" && ready.Status != corev1.ConditionTrue &&
		ready.Reason == "" && containers.Status == corev1.ConditionTrue {
		return fmt.Sprintf("node %q is not ready", p.Spec.NodeName), true
	}
	return "", false
}

// condition returns the pod's condition of a type; without one, a zero value.
func condition(p *corev1.Pod, t corev1.PodConditionType) corev1.PodCondition {
	for _, c := range p.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return corev1.PodCondition{}
}

// failedPod classifies a pod in phase Failed.
func failedPod(p *corev1.Pod) (contract.FailureClass, string) {
	target := condition(p, corev1.DisruptionTarget)
	if slices.Contains(evictions, p.Status.Reason) || target.Status == corev1.ConditionTrue {
		return contract.FailureEvicted, cmp.Or(p.Status.Message, target.Message)
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
		class := WaitingClass(w.Reason)
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

// exit describes how a container terminated. It omits the termination message: the
// program writes it, and it may contain anything.
func exit(name string, t *corev1.ContainerStateTerminated) string {
	return fmt.Sprintf("container %q ended with exit code %d (%s)", name, t.ExitCode, t.Reason)
}

// clean makes one line without control characters that fits in an observation.
func clean(s string) string {
	return contract.Text(strings.TrimSpace(strings.Join(strings.FieldsFunc(s, unicode.IsControl), " ")))
}
