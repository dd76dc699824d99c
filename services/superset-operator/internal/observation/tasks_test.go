package observation_test

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/observation"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/snapshot"
)

// migrating returns the input of a Superset whose first migration has a pod in the given state.
func migrating(owner types.UID, state corev1.ContainerState) observation.Input {
	sup := &v1alpha1.Superset{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	sup.Status.Lifecycle = &v1alpha1.LifecycleStatus{Migrate: &v1alpha1.TaskRefStatus{State: v1alpha1.TaskRunning}}
	phase := corev1.PodPending
	if state.Terminated != nil {
		phase = corev1.PodFailed
	}
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "x-migrate-1", OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}},
		Status:     corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "superset", State: state}}},
	}
	return observation.Input{
		Superset: sup, Desired: &desired.State{}, Outcome: contract.Reconcile{Outcome: contract.Succeeded},
		Snapshot: &snapshot.Snapshot{
			Jobs:     map[string]*batchv1.Job{"migrate": {ObjectMeta: metav1.ObjectMeta{UID: "job"}}},
			TaskPods: map[string][]corev1.Pod{"migrate": {pod}},
		},
	}
}

func waits(reason string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "words"}}
}

// conditionsOf computes the conditions of an observation, as the aggregator does.
func conditionsOf(in observation.Input) map[string]metav1.Condition {
	o := observation.For(in)
	out := map[string]metav1.Condition{}
	for _, c := range conditions.Compute(conditions.Input{Observation: &o, Generation: 1, Now: time.Unix(1, 0)}).Conditions {
		out[c.Type] = c
	}
	return out
}

func TestTaskStartFailureDegradesImmediately(t *testing.T) {
	for state, want := range map[string]string{
		"ImagePullBackOff": "ImagePull", "ErrImagePull": "ImagePull", "InvalidImageName": "ImagePull",
		"ErrImageNeverPull": "ImagePull", "ImageInspectError": "ImagePull", "CreateContainerConfigError": "ConfigError",
	} {
		got := conditionsOf(migrating("job", waits(state)))
		if c := got[conditions.TypeDegraded]; c.Status != metav1.ConditionTrue || c.Reason != want {
			t.Errorf("%s: Degraded is %s/%s: %s", state, c.Status, c.Reason, c.Message)
		}
		// The cause can be fixed and the task is retried, so Progressing stays True.
		if c := got[conditions.TypeProgressing]; c.Status != metav1.ConditionTrue || c.Reason != "JobRunning" {
			t.Errorf("%s: Progressing is %s/%s", state, c.Status, c.Reason)
		}
	}
}

func TestStartingOrRetriedTaskIsNotDegraded(t *testing.T) {
	for name, in := range map[string]observation.Input{
		"it is starting":          migrating("job", waits("ContainerCreating")),
		"an attempt failed":       migrating("job", corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}),
		"a pod of an earlier Job": migrating("earlier", waits("ImagePullBackOff")),
		"nothing to observe":      {Superset: &v1alpha1.Superset{}},
	} {
		if units := observation.For(in).Units; len(units) > 0 {
			t.Errorf("%s: units %+v", name, units)
		}
	}
}

// TestTaskStartFailureCountsOnePod checks that a stopped Superset counts the pod of a running task once.
func TestTaskStartFailureCountsOnePod(t *testing.T) {
	in := migrating("job", waits("ImagePullBackOff"))
	in.Intent = contract.Intent{Stopped: true, StoppedBy: "test"}
	c := conditionsOf(in)[conditions.TypeStopped]
	if want := "The object is stopping on request by test; 1 pod is left."; c.Status != metav1.ConditionFalse || c.Message != want {
		t.Errorf("Stopped is %s: %s", c.Status, c.Message)
	}
}
