package observation

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// databaseHistory computes the conditions of an instance whose database is updated.
type databaseHistory struct {
	t      *testing.T
	now    time.Time
	down   metav1.Time // when the pod of the metadata service was lost
	result conditions.Result
}

// deployment returns a Deployment that was rolled out, with or without its pod.
func (h *databaseHistory) deployment(isAvailable bool) status.Component {
	c := available(availableComponent())
	if isAvailable {
		return c
	}
	c = available(unreadyAs("NewReplicaSetAvailable"))
	c.Deployment.Status.UpdatedReplicas = 1
	c.Deployment.Status.Conditions = append(c.Deployment.Status.Conditions, appsv1.DeploymentCondition{
		Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, LastTransitionTime: h.down,
	})
	return c
}

// compute computes the conditions while the database has the given numbers of pods.
func (h *databaseHistory) compute(updated, isAvailable int32, pods ...corev1.Pod) {
	i := instanceWith(h.deployment(isAvailable > 0), h.deployment(true))
	i.Object.Status.ObservedGeneration = 4
	i.DatabaseReplicas, i.DatabasePods = 1, pods
	i.Database = &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}}
	i.Database.Status = appsv1.StatefulSetStatus{Replicas: 1, UpdatedReplicas: updated, ReadyReplicas: isAvailable, AvailableReplicas: isAvailable}
	o := ForInstance(i, nil, h.now)
	h.result = conditions.Compute(conditions.Input{
		Observation: &o, Generation: 4, Now: h.now, Previous: h.result.Conditions, Memory: h.result.Memory,
	})
}

func (h *databaseHistory) check(conditionType, want string) metav1.Condition {
	h.t.Helper()
	c := meta.FindStatusCondition(h.result.Conditions, conditionType)
	if got := string(c.Status) + "/" + c.Reason; got != want {
		h.t.Errorf("after %s %s is %s, want %s: %s", h.now.Sub(testTime), conditionType, got, want, c.Message)
	}
	return *c
}

// updateDatabase returns the history up to the moment at which the new pod has replaced the old one and fails.
func updateDatabase(t *testing.T, failed corev1.Pod) *databaseHistory {
	t.Helper()
	h := &databaseHistory{t: t, now: testTime}
	h.compute(1, 1)
	h.check("Progressing", "False/AsExpected")
	h.now = h.now.Add(time.Minute)
	h.compute(0, 1)
	h.check("Progressing", "True/RollingOut")
	h.now, h.down = h.now.Add(time.Minute), metav1.NewTime(h.now.Add(time.Minute))
	h.compute(1, 0, failed)
	h.check("Available", "False/InsufficientReplicas")
	return h
}

func podWaiting(reason string) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop-metadata-pg-0"}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "postgresql", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}}
	return p
}

func podUnschedulable() corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop-metadata-pg-0"}}
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	return p
}

// A database whose update fails is reported: the cause of its pod at once, and with the metadata service's progress
// deadline that the instance does not progress.
func TestBrokenDatabaseIsReported(t *testing.T) {
	for name, tc := range map[string]struct {
		pod           corev1.Pod
		after         time.Duration
		reason, cause string
	}{
		"an image cannot be pulled": {podWaiting("ImagePullBackOff"), 0, conditions.ReasonImagePull, "postgres: an image cannot be pulled."},
		"a container crashes":       {podWaiting("CrashLoopBackOff"), 0, conditions.ReasonCrashLoop, "postgres: containers are crash-looping."},
		"a Secret lacks a key":      {podWaiting("CreateContainerConfigError"), 0, conditions.ReasonConfigError, "postgres: containers cannot be created."},
		"no node has room":          {podUnschedulable(), conditions.MissingReplicasHold, conditions.ReasonUnschedulable, "postgres: pods cannot be scheduled."},
	} {
		t.Run(name, func(t *testing.T) {
			h := updateDatabase(t, tc.pod)
			h.now = h.now.Add(tc.after)
			h.compute(1, 0, tc.pod)
			if c := h.check("Degraded", "True/"+tc.reason); c.Message != tc.cause {
				t.Errorf("Degraded has message %q, want %q", c.Message, tc.cause)
			}
			h.now = h.down.Add(10*time.Minute - time.Second)
			h.compute(1, 0, tc.pod)
			h.check("Progressing", "True/RollingOut")
			h.now = h.down.Add(10 * time.Minute)
			h.compute(1, 0, tc.pod)
			h.check("Progressing", "False/Stalled")
			h.check("Degraded", "True/"+tc.reason)
		})
	}
}

// A database that runs and never becomes ready has no failure that its pod shows before its probes' time limit.
func TestDatabaseThatIsNeverReadyIsReportedAtDeadline(t *testing.T) {
	running := corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	h := updateDatabase(t, running)
	h.now = h.down.Add(10*time.Minute - time.Second)
	h.compute(1, 0, running)
	h.check("Degraded", "False/AsExpected")
	h.now = h.down.Add(10 * time.Minute)
	h.compute(1, 0, running)
	h.check("Degraded", "True/Stalled")
	h.now = h.now.Add(time.Minute)
	h.compute(1, 1)
	h.now = h.now.Add(conditions.RecoveryHold)
	h.compute(1, 1)
	h.check("Degraded", "False/AsExpected")
	h.check("Progressing", "False/AsExpected")
}

// The deadline is that of the metadata service while it waits for its own database, not while an external one is down.
func TestDeadlineNeedsOwnDatabase(t *testing.T) {
	h := &databaseHistory{t: t, now: testTime.Add(time.Hour), down: metav1.NewTime(testTime)}
	for name, change := range map[string]func(*status.Instance){
		"an external database": func(i *status.Instance) { i.Object.Spec.Metadata.Postgres = &v1alpha1.PostgresSpec{} },
		"a database that runs": func(i *status.Instance) {
			i.Database = &appsv1.StatefulSet{Status: appsv1.StatefulSetStatus{Replicas: 1, AvailableReplicas: 1}}
		},
	} {
		i := instanceWith(h.deployment(false), h.deployment(true))
		i.DatabaseReplicas = 1
		change(&i)
		if u := ForInstance(i, nil, h.now).Units[0]; u.Stalled {
			t.Errorf("%s: %s is stalled", name, u.Name)
		}
	}
}
