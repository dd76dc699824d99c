package gen_test

import (
	"fmt"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/gen"
)

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{}))
}

func ExampleDeployment() {
	d := gen.Deployment("default", "web", gen.Replicas(3), gen.Fail(controlplane.FailCrashLoop))
	fmt.Println(*d.Spec.Replicas, d.Spec.Template.Annotations)
	// Output: 3 map[simulate.flotilla.dev/fail:CrashLoopBackOff]
}

func TestAPIServerAcceptsGeneratedObjects(t *testing.T) {
	c := cluster.Get(t)
	cl := c.Client(t, scheme.Scheme)
	ns := c.Namespace(t)
	deployment := gen.Deployment(ns, "deployment", gen.Replicas(2), gen.Label("tier", "front"))
	set := gen.StatefulSet(ns, "set", gen.Image("example.org/other:2"))
	succeeding, failing := gen.Job(ns, "good"), gen.Job(ns, "bad", gen.Ends("100ms", "3"))
	pod := gen.Pod(ns, "pod", gen.Fail(controlplane.FailNeverReady))
	for _, err := range []error{
		cl.Create(t.Context(), deployment),
		cl.Create(t.Context(), set),
		cl.Create(t.Context(), succeeding),
		cl.Create(t.Context(), failing),
		cl.Create(t.Context(), pod),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	expect.Object(t, cl, deployment, func(d *appsv1.Deployment) error {
		return count("ready replicas", 2, d.Status.ReadyReplicas)
	})
	expect.Object(t, cl, set, func(s *appsv1.StatefulSet) error {
		return count("ready replicas", 1, s.Status.ReadyReplicas)
	})
	expect.Condition(t, cl, succeeding, string(batchv1.JobComplete), "True")
	if failed := expect.Condition(t, cl, failing, string(batchv1.JobFailed), "True"); failed.Reason != "BackoffLimitExceeded" {
		t.Errorf("the bad job failed for %s", failed.Reason)
	}
	expect.Object(t, cl, pod, func(p *corev1.Pod) error {
		if p.Status.Phase != corev1.PodRunning || p.Status.ContainerStatuses[0].Ready {
			return fmt.Errorf("phase %s, containers %v", p.Status.Phase, p.Status.ContainerStatuses)
		}
		return nil
	})
}

func count(what string, want, got int32) error {
	if want != got {
		return fmt.Errorf("%d %s instead of %d", got, what, want)
	}
	return nil
}
