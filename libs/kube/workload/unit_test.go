package workload_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
)

// Example shows the observation of one component of a resource.
func Example() {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Status:     appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1},
	}
	base := contract.Unit{Name: "webServer", Role: contract.Serving, Routed: true, Desired: 2}
	u := workload.Deployment(base, d, workload.Inputs{AppliedGeneration: 2})
	fmt.Println(u.Kind, u.Observed, u.Available, "of", u.Desired)
	// Output: Deployment true 1 of 2
}

var base = contract.Unit{Name: "web", Role: contract.Serving, Routed: true, Desired: 3}

// unit returns base with changes.
func unit(change func(*contract.Unit)) contract.Unit {
	u := base
	u.Kind = "Deployment"
	change(&u)
	return u
}

var deploymentStatus = appsv1.DeploymentStatus{
	ObservedGeneration: 4, Replicas: 4, UpdatedReplicas: 2, ReadyReplicas: 3, AvailableReplicas: 1, TerminatingReplicas: new(int32(1)),
}

// deploymentCounts sets the counts of deploymentStatus.
func deploymentCounts(u *contract.Unit) {
	u.Present, u.Observed = true, true
	u.Current, u.Updated, u.Ready, u.Available, u.Terminating = 4, 2, 3, 1, 1
}

func deploymentWith(conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
	s := deploymentStatus
	s.Conditions = conditions
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 4}, Status: s}
}

// deploymentRow is a Deployment with its unit.
type deploymentRow struct {
	reason  string
	declare func(*contract.Unit)
	d       *appsv1.Deployment
	seen    workload.Inputs
	want    contract.Unit
}

func checkDeployments(t *testing.T, rows map[string]deploymentRow) {
	t.Helper()
	for name, tc := range rows {
		t.Run(name, func(t *testing.T) {
			declared := base
			if tc.declare != nil {
				tc.declare(&declared)
			}
			if diff := cmp.Diff(tc.want, workload.Deployment(declared, tc.d, tc.seen)); diff != "" {
				t.Errorf("unit (-want +got): %s\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDeploymentCounts(t *testing.T) {
	checkDeployments(t, map[string]deploymentRow{
		"one that does not exist is declared but not present": {
			d: nil, want: unit(func(*contract.Unit) {}),
		},
		"counts come from the status": {d: deploymentWith(), want: unit(deploymentCounts)},
		"an autoscaled one takes its own count": {
			declare: func(u *contract.Unit) { u.Desired = -1 },
			d: func() *appsv1.Deployment {
				d := deploymentWith()
				d.Spec.Replicas = new(int32(7))
				return d
			}(),
			want: unit(func(u *contract.Unit) { deploymentCounts(u); u.Desired = 7 }),
		},
		"pods that go are counted from the pods where they are known": {
			d:    deploymentWith(),
			seen: workload.Inputs{Pods: []corev1.Pod{{}, {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}, {ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}}},
			want: unit(func(u *contract.Unit) { deploymentCounts(u); u.Terminating = 2 }),
		},
		"pods of a workload that is gone are still counted": {
			d: nil, seen: workload.Inputs{Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}}},
			want: unit(func(u *contract.Unit) { u.Terminating = 1 }),
		},
	})
}

func TestDeploymentFollowsController(t *testing.T) {
	deadline := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: "False", Reason: "ProgressDeadlineExceeded"}
	checkDeployments(t, map[string]deploymentRow{
		"a generation that its controller has not seen is not observed": {
			d:    &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 5}, Status: deploymentStatus},
			want: unit(func(u *contract.Unit) { deploymentCounts(u); u.Observed = false }),
		},
		"a generation that the cache does not show yet is not observed": {
			reason: "the apply returned 5 while the cache still has 4",
			d:      deploymentWith(), seen: workload.Inputs{AppliedGeneration: 5},
			want: unit(func(u *contract.Unit) { deploymentCounts(u); u.Observed = false }),
		},
		"past its progress deadline it is stalled": {
			d: deploymentWith(deadline), want: unit(func(u *contract.Unit) { deploymentCounts(u); u.Stalled = true }),
		},
		"the deadline of an older spec is ignored": {
			d: deploymentWith(deadline), seen: workload.Inputs{AppliedGeneration: 5},
			want: unit(func(u *contract.Unit) { deploymentCounts(u); u.Observed = false }),
		},
		"pods that cannot be created are a failure": {
			d: deploymentWith(appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: "True", Reason: "FailedCreate", Message: "quota\nexceeded"}),
			want: unit(func(u *contract.Unit) {
				deploymentCounts(u)
				u.Failures = []contract.Failure{{Class: contract.FailureCreateFailed, Count: 1, Message: "quota exceeded"}}
			}),
		},
	})
}

func TestStatefulSet(t *testing.T) {
	status := appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 2, AvailableReplicas: 2}
	want := unit(func(u *contract.Unit) {
		u.Kind, u.Present, u.Observed = "StatefulSet", true, true
		u.Current, u.Updated, u.Ready, u.Available = 3, 1, 2, 2
	})
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: status}
	if diff := cmp.Diff(want, workload.StatefulSet(base, s, workload.Inputs{})); diff != "" {
		t.Errorf("unit (-want +got):\n%s", diff)
	}
	want = unit(func(u *contract.Unit) { u.Kind = "StatefulSet" })
	if diff := cmp.Diff(want, workload.StatefulSet(base, nil, workload.Inputs{})); diff != "" {
		t.Errorf("absent unit (-want +got):\n%s", diff)
	}
}

func TestJob(t *testing.T) {
	with := func(conditions ...batchv1.JobCondition) *batchv1.Job {
		return &batchv1.Job{Status: batchv1.JobStatus{StartTime: &metav1.Time{}, Conditions: conditions}}
	}
	tests := map[string]struct {
		job  *batchv1.Job
		want contract.Job
	}{
		"absent is pending":                       {nil, contract.Job{State: contract.JobPending}},
		"not started is pending":                  {&batchv1.Job{}, contract.Job{State: contract.JobPending}},
		"suspended is pending":                    {&batchv1.Job{Spec: batchv1.JobSpec{Suspend: new(true)}}, contract.Job{State: contract.JobPending, Message: "suspended"}},
		"started is running":                      {with(), contract.Job{State: contract.JobRunning}},
		"complete":                                {with(batchv1.JobCondition{Type: batchv1.JobComplete, Status: "True"}), contract.Job{State: contract.JobComplete}},
		"about to fail still runs":                {with(batchv1.JobCondition{Type: batchv1.JobFailureTarget, Status: "True"}), contract.Job{State: contract.JobRunning}},
		"a condition that is not true is ignored": {with(batchv1.JobCondition{Type: batchv1.JobFailed, Status: "False"}), contract.Job{State: contract.JobRunning}},
		"failed has a cause": {
			with(batchv1.JobCondition{Type: batchv1.JobFailed, Status: "True", Reason: "BackoffLimitExceeded", Message: "too often"}),
			contract.Job{State: contract.JobFailed, Message: "BackoffLimitExceeded: too often"},
		},
		"retries are counted": {
			&batchv1.Job{Status: batchv1.JobStatus{Active: 1, Failed: 2}},
			contract.Job{State: contract.JobRunning, Message: "failed attempts: 2"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			tc.want.Name = "migrate"
			if diff := cmp.Diff(tc.want, workload.Job("migrate", tc.job)); diff != "" {
				t.Errorf("job (-want +got):\n%s", diff)
			}
		})
	}
}
