package observation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/component"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// TestFailedProbeIsReportedInTime checks that a failing probe, which causes no watch event, is detected by time.
func TestFailedProbeIsReportedInTime(t *testing.T) {
	started := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	unready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
	pod := corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "superset", ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 1},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: unready, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "superset", Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
		}}},
	}
	webServer := resolve.Component{Workload: resolve.Workload{Slug: component.WebServerName}, Descriptor: component.All()[0], Replicas: 1}
	in := observation.Input{
		Superset: &v1alpha1.Superset{},
		Desired:  &desired.State{Components: []desired.Component{{Component: webServer}}},
		Snapshot: &snapshot.Snapshot{Pods: map[string][]corev1.Pod{component.WebServerName: {pod}}},
	}
	failing := func(now time.Time) bool {
		in.Now = now
		failures := observation.For(in).Units[0].Failures
		return len(failures) == 1 && failures[0].Class == contract.FailureProbeFailing
	}
	if failing(started.Add(time.Second)) {
		t.Error("a container that has just started is reported with a failing probe")
	}
	if !failing(started.Add(time.Minute)) {
		t.Error("a probe that has failed for long enough is not reported")
	}
}

// TestFailureOfManyObjectsKeepsRemedy uses more foreign objects than a message can name.
func TestFailureOfManyObjectsKeepsRemedy(t *testing.T) {
	err := apply.ErrNotOwned
	for i := range 30 {
		err = fmt.Errorf("%w; apply Service a/lab-%d: %w", err, i, apply.ErrNotOwned)
	}
	message := observation.Failure(err).Message
	if !strings.HasSuffix(message, "... Delete or rename the objects.") || message != contract.Text(message) {
		t.Errorf("a message of %d bytes ends with %q", len(message), message[len(message)-60:])
	}
	if short := observation.Failure(apply.ErrNotOwned).Message; !strings.HasSuffix(short, "owner. Delete or rename the object.") {
		t.Errorf("message %q", short)
	}
}
