package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		fmt.Println(child())
		os.Exit(1)
	}
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{"testdata/crd"}, Nodes: 3}))
}

func deployment(namespace string, replicas int32, podAnnotations map[string]string) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: podAnnotations},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "example.org/web:1"}}},
			},
		},
	}
}

func ready(want int32) func(*appsv1.Deployment) error {
	return func(d *appsv1.Deployment) error {
		if d.Status.ReadyReplicas != want {
			return fmt.Errorf("%d ready replicas instead of %d", d.Status.ReadyReplicas, want)
		}
		return nil
	}
}

func TestDeploymentBecomesReadyOnSimulatedNodes(t *testing.T) {
	c := cluster.Get(t)
	cl := c.Client(t, scheme.Scheme)
	d := deployment(c.Namespace(t), 3, nil)
	if err := cl.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	expect.Object(t, cl, d, ready(3))
}

func TestClusterHasRequestedNodes(t *testing.T) {
	cl := cluster.Get(t).Client(t, scheme.Scheme)
	var nodes corev1.NodeList
	if err := cl.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) != 3 {
		t.Errorf("%d nodes instead of 3", len(nodes.Items))
	}
}

func TestNamespaceIsUnique(t *testing.T) {
	c := cluster.Get(t)
	first, second := c.Namespace(t), c.Namespace(t)
	if first == second {
		t.Errorf("the same namespace twice: %q", first)
	}
	cl := c.Client(t, scheme.Scheme)
	for _, ns := range []string{first, second} {
		if err := cl.Create(t.Context(), deployment(ns, 0, nil)); err != nil {
			t.Errorf("create the same name in %q: %v", ns, err)
		}
	}
}

func TestPodFailsWhileAnnotated(t *testing.T) {
	cases := map[string]struct {
		fail   string
		reason string
	}{
		"a crash loop":                 {fail: controlplane.FailCrashLoop, reason: "CrashLoopBackOff"},
		"an image that is not there":   {fail: controlplane.FailImagePull, reason: "ImagePullBackOff"},
		"a probe that never succeeds":  {fail: controlplane.FailNeverReady, reason: ""},
		"a pod without any annotation": {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster.Get(t)
			cl := c.Client(t, scheme.Scheme)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace(t), Name: "p"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.org/c:1"}}},
			}
			if tc.fail != "" {
				pod.Annotations = map[string]string{controlplane.FailAnnotation: tc.fail}
			}
			if err := cl.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			if tc.fail != "" {
				expect.Object(t, cl, pod, fails(tc.reason))
				patch := client.RawPatch("application/merge-patch+json",
					fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, controlplane.FailAnnotation))
				if err := cl.Patch(t.Context(), pod, patch); err != nil {
					t.Fatal(err)
				}
			}
			expect.Object(t, cl, pod, runs)
		})
	}
}

func fails(reason string) func(*corev1.Pod) error {
	return func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			waiting := s.State.Waiting
			if !s.Ready && (reason == "" || (waiting != nil && waiting.Reason == reason)) {
				return nil
			}
		}
		return fmt.Errorf("phase %s, containers %v", p.Status.Phase, p.Status.ContainerStatuses)
	}
}

func runs(p *corev1.Pod) error {
	if p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" || !p.Status.ContainerStatuses[0].Ready {
		return fmt.Errorf("phase %s, address %q, containers %v", p.Status.Phase, p.Status.PodIP, p.Status.ContainerStatuses)
	}
	return nil
}

func TestCRDsAreServedAndRejectInvalidObjects(t *testing.T) {
	c := cluster.Get(t)
	cl := c.Client(t, scheme.Scheme)
	boat := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "testkit.flotilla.dev/v1",
		"kind":       "Boat",
		"metadata":   map[string]any{"name": "one", "namespace": c.Namespace(t)},
		"spec":       map[string]any{"masts": int64(2)},
	}}
	if err := cl.Create(t.Context(), boat.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	boat.SetName("two")
	boat.Object["spec"] = map[string]any{"masts": "many"}
	if err := cl.Create(t.Context(), boat); !apierrors.IsInvalid(err) {
		t.Errorf("got %v, want Invalid for a string in place of a number", err)
	}
}

func TestConditionWaitsForStatus(t *testing.T) {
	c := cluster.Get(t)
	cl := c.Client(t, scheme.Scheme)
	d := deployment(c.Namespace(t), 1, nil)
	if err := cl.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	got := expect.Condition(t, cl, d, "Available", metav1.ConditionTrue)
	if got.Reason != "MinimumReplicasAvailable" {
		t.Errorf("reason %q", got.Reason)
	}
	if err := cl.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	expect.Deleted(t, cl, d)
}

func TestPrivateClusterIsSeparate(t *testing.T) {
	shared, private := cluster.Get(t), cluster.Private(t, cluster.Options{Nodes: 1})
	if shared.Config.Host == private.Config.Host {
		t.Fatalf("both at %s", shared.Config.Host)
	}
	err := private.Client(t, scheme.Scheme).Get(context.Background(),
		client.ObjectKey{Name: "boats.testkit.flotilla.dev"}, crd())
	if !apierrors.IsNotFound(err) {
		t.Errorf("the private cluster has the CRD of the shared one: %v", errors.Unwrap(err))
	}
}

func crd() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion("apiextensions.k8s.io/v1")
	u.SetKind("CustomResourceDefinition")
	return u
}
