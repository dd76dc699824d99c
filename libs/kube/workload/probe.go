package workload

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// signals are the exit codes of a container that a signal terminated: SIGKILL and SIGTERM.
var signals = []int32{128 + 9, 128 + 15}

// conditionLag is the time after the start of a container in which its pod's conditions may still describe the time before.
const conditionLag = 5 * time.Second

// probeFailing reports whether a failing probe keeps a running container from being
// ready, and which probe. Kubernetes reports a failed probe in an event only, so
// probeFailing detects it by its consequences.
func probeFailing(p *corev1.Pod, now time.Time) (string, bool) {
	if p.Status.Phase != corev1.PodRunning {
		return "", false
	}
	lost := readinessLost(p)
	for _, c := range unreadyContainers(p) {
		switch due := c.due(); {
		case c.killedBySignal():
			return fmt.Sprintf("container %q is not ready; it was terminated with exit code %d, possibly by its liveness probe",
				c.status.Name, c.status.LastTerminationState.Terminated.ExitCode), true
		case lost && c.spec.ReadinessProbe != nil:
			return fmt.Sprintf("container %q was ready and no longer is", c.status.Name), true
		case !due.IsZero() && !now.Before(due):
			return fmt.Sprintf("container %q runs but has not become ready", c.status.Name), true
		}
	}
	return "", false
}

// ProbesDue returns the next time at which a probe of these pods counts as failing if
// nothing changes; the zero time when there is none.
func ProbesDue(pods []corev1.Pod, now time.Time) time.Time {
	var next time.Time
	for i := range pods {
		p := &pods[i]
		if p.DeletionTimestamp != nil || p.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, c := range unreadyContainers(p) {
			if due := c.due(); due.After(now) && (next.IsZero() || due.Before(next)) {
				next = due
			}
		}
	}
	return next
}

// UntilProbesDue returns the time until a probe of any of these pods counts as failing if
// nothing changes; zero means never.
func UntilProbesDue(now time.Time, groups iter.Seq[[]corev1.Pod]) time.Duration {
	var next time.Duration
	for pods := range groups {
		due := ProbesDue(pods, now)
		if due.IsZero() {
			continue
		}
		if remaining := due.Sub(now); next == 0 || remaining < next {
			next = remaining
		}
	}
	return next
}

// unreadyContainer is a container that runs and is not ready.
type unreadyContainer struct {
	spec   corev1.Container
	status corev1.ContainerStatus
}

// unreadyContainers lists the pod's unready containers, sidecars first. An init container other than a sidecar
// is never ready while it runs.
func unreadyContainers(p *corev1.Pod) []unreadyContainer {
	var out []unreadyContainer
	for _, s := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
			if c.Name == s.Name && c.State.Running != nil && !c.Ready {
				out = append(out, unreadyContainer{spec: s, status: c})
			}
		}
	}
	return out
}

// due returns when the time limit of all its probes ends; zero without probes.
func (c unreadyContainer) due() time.Time {
	started := c.status.Started != nil && *c.status.Started
	if c.spec.ReadinessProbe == nil && (started || c.spec.StartupProbe == nil) {
		return time.Time{}
	}
	return c.status.State.Running.StartedAt.Add(allowance(c.spec.StartupProbe) + allowance(c.spec.ReadinessProbe))
}

// killedBySignal reports whether a signal terminated the container before, as after a failed
// liveness or startup probe. Running out of memory does not count.
func (c unreadyContainer) killedBySignal() bool {
	last := c.status.LastTerminationState.Terminated
	return last != nil && last.Reason != oomKilled && slices.Contains(signals, last.ExitCode) &&
		(c.spec.LivenessProbe != nil || c.spec.StartupProbe != nil)
}

// readinessLost reports whether the containers were ready and one no longer is, without
// a restart: the condition then changed later than the newest of them started.
func readinessLost(p *corev1.Pod) bool {
	c := condition(p, corev1.ContainersReady)
	if c.Status != corev1.ConditionFalse {
		return false
	}
	var newest time.Time
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Running != nil && s.State.Running.StartedAt.After(newest) {
			newest = s.State.Running.StartedAt.Time
		}
	}
	return c.LastTransitionTime.After(newest.Add(conditionLag))
}

// allowance returns how long a probe may fail before that has a consequence. The API server
// sets the defaults; they are repeated here for specs that it has not processed.
func allowance(p *corev1.Probe) time.Duration {
	if p == nil {
		return 0
	}
	seconds := p.InitialDelaySeconds + cmp.Or(p.PeriodSeconds, 10)*cmp.Or(p.FailureThreshold, 3) + cmp.Or(p.TimeoutSeconds, 1)
	return time.Duration(seconds) * time.Second
}
