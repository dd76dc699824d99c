package workload_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

var containerStart = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func second(n int) metav1.Time {
	return metav1.NewTime(containerStart.Add(time.Duration(n) * time.Second))
}

// probed returns a pod whose container "main" was started at second 0 and has probes that
// give it 36 s for readiness, and 51 s before that for starting up.
func probed(change ...func(*corev1.Pod)) corev1.Pod {
	p := pod("p", corev1.PodStatus{
		Phase: corev1.PodRunning,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", LastTransitionTime: second(-3)},
			{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", LastTransitionTime: second(-3)},
		},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(0)}},
		}},
	})
	p.Spec.Containers = []corev1.Container{{
		Name:           "main",
		ReadinessProbe: &corev1.Probe{InitialDelaySeconds: 5, PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 1},
	}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func withStartupProbe(p *corev1.Pod) {
	p.Spec.Containers[0].StartupProbe = &corev1.Probe{PeriodSeconds: 5, FailureThreshold: 10, TimeoutSeconds: 1}
	p.Status.ContainerStatuses[0].Started = new(false)
}

func livenessProbe(p *corev1.Pod) { p.Spec.Containers[0].LivenessProbe = &corev1.Probe{} }

func ended(reason string, code int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code}
	}
}

// unreadySince moves the conditions to a second.
func unreadySince(n int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i := range p.Status.Conditions {
			p.Status.Conditions[i].LastTransitionTime = second(n)
		}
	}
}

func TestFailuresReportProbes(t *testing.T) {
	const (
		never  = `container "main" runs but has not become ready`
		lost   = `container "main" was ready and no longer is`
		killed = `container "main" is not ready; it was terminated with exit code 137, possibly by its liveness probe`
	)
	withoutProbe := func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = nil }
	tests := map[string]struct {
		pod     corev1.Pod
		now     time.Time
		message string    // empty: no failure
		due     time.Time // when to check again
	}{
		"starting":                       {probed(), second(35).Time, "", second(36).Time},
		"the readiness probe is overdue": {probed(), second(36).Time, never, time.Time{}},
		"the readiness probe is not overdue without a clock": {probed(), time.Time{}, "", second(36).Time},
		"starting up":             {probed(withStartupProbe), second(86).Time, "", second(87).Time},
		"both probes are overdue": {probed(withStartupProbe), second(87).Time, never, time.Time{}},
		"defaults that are not set": {
			probed(func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{} }), second(30).Time, "", second(31).Time,
		},
		"it was ready":                           {probed(unreadySince(6)), time.Time{}, lost, second(36).Time},
		"the conditions are slightly late":       {probed(unreadySince(5)), time.Time{}, "", second(36).Time},
		"it was started after it became unready": {probed(unreadySince(-60)), second(1).Time, "", second(36).Time},
		"another container was started after it": {
			probed(unreadySince(20), func(p *corev1.Pod) {
				p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
					Name: "side", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: second(19)}},
				})
			}), time.Time{}, "", second(36).Time,
		},
		"no probe, so nothing fails": {probed(withoutProbe, unreadySince(60)), second(3600).Time, "", time.Time{}},
		"ended by its liveness probe": {
			probed(livenessProbe, ended("Error", 137)), second(1).Time, killed, second(36).Time,
		},
		"ended without a liveness probe":         {probed(ended("Error", 137)), second(1).Time, "", second(36).Time},
		"it ended by itself":                     {probed(livenessProbe, ended("Error", 1)), second(1).Time, "", second(36).Time},
		"ready":                                  {probed(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = true }), second(3600).Time, "", time.Time{}},
		"terminating":                            {probed(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), second(3600).Time, "", time.Time{}},
		"not running":                            {probed(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }), second(3600).Time, "", time.Time{}},
		"a sidecar's probe counts like the rest": {probed(sidecar), second(36).Time, `container "side" runs but has not become ready`, time.Time{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var want []contract.Failure
			if tc.message != "" {
				want = []contract.Failure{{Class: contract.FailureProbeFailing, Count: 1, Examples: []string{"p"}, Message: tc.message}}
			}
			pods := []corev1.Pod{tc.pod}
			if diff := cmp.Diff(want, failures(t, pods, tc.now)); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
			if due := workload.ProbesDue(pods, tc.now); !due.Equal(tc.due) {
				t.Errorf("due at %s, want %s", due, tc.due)
			}
		})
	}
}

// sidecar makes the pod's container a sidecar.
func sidecar(p *corev1.Pod) {
	p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, nil
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = p.Status.ContainerStatuses, nil
	p.Spec.InitContainers[0].Name, p.Status.InitContainerStatuses[0].Name = "side", "side"
}

func TestFailuresPreferCauseOverProbes(t *testing.T) {
	oom := probed(livenessProbe, ended("OOMKilled", 137))
	loop := probed(livenessProbe, ended("Error", 137), func(p *corev1.Pod) {
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	})
	for class, p := range map[contract.FailureClass]corev1.Pod{contract.FailureOOMKilled: oom, contract.FailureCrashLoop: loop} {
		if got := failures(t, []corev1.Pod{p}, second(3600).Time); len(got) != 1 || got[0].Class != class {
			t.Errorf("got %+v, want %s", got, class)
		}
	}
}

func TestPodChangedFollowsFailure(t *testing.T) {
	ready := probed(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].Ready = true })
	tests := map[string]struct {
		before, after corev1.Pod
		want          bool
	}{
		"no change":                          {probed(), probed(unreadySince(1)), false},
		"it became ready":                    {probed(), ready, true},
		"readiness is lost":                  {ready, probed(unreadySince(60)), true},
		"it was restarted":                   {probed(), probed(func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Running.StartedAt = second(9) }), true},
		"it crashes":                         {pod("p", running(waitingFor("ContainerCreating", ""))), pod("p", running(waitingFor("CrashLoopBackOff", ""))), true},
		"another reason of the same failure": {pod("p", running(waitingFor("ErrImagePull", "a"))), pod("p", running(waitingFor("ImagePullBackOff", "b"))), false},
		"it is terminating":                  {ready, probed(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), true},
		"a label was added":                  {ready, func() corev1.Pod { p := ready; p.Labels = map[string]string{"a": "b"}; return p }(), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := workload.Changed(&tc.before, &tc.after); got != tc.want {
				t.Errorf("changed: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestUnitsEvaluateProbesByCallerClock(t *testing.T) {
	u := workload.StatefulSet(base, nil, workload.Inputs{Pods: []corev1.Pod{probed()}, Now: second(36).Time})
	if len(u.Failures) != 1 || u.Failures[0].Class != contract.FailureProbeFailing {
		t.Errorf("failures are %+v", u.Failures)
	}
}

func TestUntilProbesDueReturnsEarliest(t *testing.T) {
	groups := map[string][]corev1.Pod{"g1": {probed()}, "g2": {probed(withStartupProbe)}, "g3": nil}
	if got := workload.UntilProbesDue(second(30).Time, maps.Values(groups)); got != 6*time.Second {
		t.Errorf("after %s, want 6s", got)
	}
	if got := workload.UntilProbesDue(second(36).Time, maps.Values(map[string][]corev1.Pod{"g1": {probed()}})); got != 0 {
		t.Errorf("after %s, want never", got)
	}
}
