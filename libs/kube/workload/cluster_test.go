package workload_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/internal/apitest"
	"github.com/flotilla-dev/flotilla/libs/kube/workload"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func template(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": "x"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/x:1",
			ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}},
		}}},
	}
	change(p)
	return p
}

func simulated(failure string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{controlplane.FailAnnotation: failure} }
}

// The statuses of the real scheduler and of a simulated kubelet are parsed.
func TestFailuresOfPodsInCluster(t *testing.T) {
	later := time.Now().Add(time.Hour)
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   contract.FailureClass
	}{
		"crash loop":    {simulated(controlplane.FailCrashLoop), contract.FailureCrashLoop},
		"image pull":    {simulated(controlplane.FailImagePull), contract.FailureImagePull},
		"configuration": {simulated(controlplane.FailContainerConfig), contract.FailureConfigError},
		"never ready":   {simulated(controlplane.FailNeverReady), contract.FailureProbeFailing},
		"no node fits": {
			func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"nobody": "has-this"} }, contract.FailureUnschedulable,
		},
		"failed": {
			func(p *corev1.Pod) {
				p.Spec.RestartPolicy = corev1.RestartPolicyNever
				p.Annotations = map[string]string{controlplane.FinishAfterAnnotation: "1ms", controlplane.ExitCodeAnnotation: "3"}
			}, contract.FailurePodFailed,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, p := apitest.New(t), template(tc.change)
			p.Namespace = apitest.Namespace(t)
			apitest.Create(t, c, p)
			expect.Eventually(t, expect.Long, func() error {
				return fails(apitest.Read(t, c.Client, p), later, tc.want)
			})
		})
	}
}

func fails(p *corev1.Pod, now time.Time, want contract.FailureClass) error {
	got := workload.Failures([]corev1.Pod{*p}, now)
	if len(got) != 1 || got[0].Class != want {
		return fmt.Errorf("failures are %+v, want %s; the status is %+v", got, want, p.Status)
	}
	return nil
}

// Statuses that a simulated kubelet does not write pass through a real API server, which
// rejects invalid ones.
func TestFailuresOfStatusesAcceptedByAPIServer(t *testing.T) {
	since := metav1.NewTime(time.Now().Add(-time.Hour).Truncate(time.Second))
	up := func(ready bool) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: "main", Image: "x", Ready: ready, Started: new(true), RestartCount: 1,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}
	}
	conditions := func(ready, containers corev1.ConditionStatus, reason string) []corev1.PodCondition {
		return []corev1.PodCondition{
			{Type: corev1.PodReady, Status: ready, Reason: reason, LastTransitionTime: metav1.NewTime(since.Add(time.Minute))},
			{Type: corev1.ContainersReady, Status: containers, Reason: reason, LastTransitionTime: metav1.NewTime(since.Add(time.Minute))},
		}
	}
	tests := map[string]struct {
		status corev1.PodStatus
		want   contract.FailureClass
	}{
		"evicted": {corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}, contract.FailureEvicted},
		"out of memory": {corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
			lastEnded(up(false), "OOMKilled", 137),
		}}, contract.FailureOOMKilled},
		"the node is lost": {corev1.PodStatus{
			Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{up(true)},
			Conditions: conditions(corev1.ConditionFalse, corev1.ConditionTrue, ""),
		}, contract.FailureNodeLost},
		"readiness is lost": {corev1.PodStatus{
			Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{up(false)},
			Conditions: conditions(corev1.ConditionFalse, corev1.ConditionFalse, "ContainersNotReady"),
		}, contract.FailureProbeFailing},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c := apitest.New(t)
			// The node does not exist, so only the test writes the status.
			p := template(func(p *corev1.Pod) { p.Spec.NodeName = "nobody" })
			p.Namespace = apitest.Namespace(t)
			apitest.Create(t, c, p)
			before := p.DeepCopy()
			p.Status = tc.status
			if err := c.Status().Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
				t.Fatal(err)
			}
			if err := fails(apitest.Read(t, c.Client, p), time.Time{}, tc.want); err != nil {
				t.Error(err)
			}
		})
	}
}

// The Deployment controller reports it when a quota rejects a pod.
func TestDeploymentReportsCreateFailure(t *testing.T) {
	c, ns := apitest.New(t), apitest.Namespace(t)
	apitest.Create(t, c, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	})
	p := template(func(*corev1.Pod) {})
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "d"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: p.Labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec},
		},
	}
	apitest.Create(t, c, d)
	expect.Eventually(t, expect.Long, func() error {
		u := workload.Deployment(contract.Unit{Desired: 2}, apitest.Read(t, c.Client, d), workload.Inputs{})
		if len(u.Failures) != 1 || u.Failures[0].Class != contract.FailureCreateFailed || u.Failures[0].Count != 2 {
			return errors.New("no failure yet: " + fmt.Sprint(u.Failures))
		}
		return nil
	})
}
