// Package platform gives scenarios access to the cluster and the checkout, and reads the state of objects for their checks.
package platform

import (
	"context"
	"embed"
	"fmt"
	"net"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/e2e/cluster"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
)

//go:embed manifests
var manifests embed.FS

// Platform is the environment of the scenarios: the cluster with the services, and the checkout.
type Platform struct {
	*cluster.Cluster
	System string // namespace of the services
	Data   string // namespace of MySQL and NATS
	Root   string // checkout with the samples and charts
	// Previous is a directory of charts of an earlier commit, from which services are upgraded.
	Previous string
	// ScreenshotDir is the directory for screenshots.
	ScreenshotDir string
	// Intn returns a random number in [0, n), for random times.
	Intn func(n int) int
}

// Manifest returns an embedded manifest. Values are pairs of a placeholder, such as ${NAME}, and its replacement.
func Manifest(name string, values ...string) (string, error) {
	raw, err := manifests.ReadFile("manifests/" + name)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer(values...).Replace(string(raw)), nil
}

// ApplyManifest applies an embedded manifest with the values of [Manifest].
func (p *Platform) ApplyManifest(ctx context.Context, namespace, name string, values ...string) error {
	filled, err := Manifest(name, values...)
	if err != nil {
		return err
	}
	return p.Apply(ctx, namespace, filled)
}

// Condition returns the status and reason of a condition. If the condition is absent or was computed from another
// generation, the status is empty and the reason says so.
func Condition(o *unstructured.Unstructured, conditionType string) (status, reason string) {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return "", err.Error()
	}
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] != conditionType {
			continue
		}
		if observed, ok := c["observedGeneration"].(int64); ok && observed != 0 && observed != o.GetGeneration() {
			return "", fmt.Sprintf("observed generation %d, want %d", observed, o.GetGeneration())
		}
		return fmt.Sprint(c["status"]), fmt.Sprint(c["reason"])
	}
	return "", "absent"
}

// IsTrue returns an error unless a condition is True for the latest generation.
func IsTrue(o *unstructured.Unstructured, conditionType string) error {
	if status, reason := Condition(o, conditionType); status != "True" {
		return fmt.Errorf("%s is %q (%s), want True", conditionType, status, reason)
	}
	return nil
}

// Number returns the integer at a path, or -1 if there is none.
func Number(o *unstructured.Unstructured, path ...string) int64 {
	n, found, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil || !found {
		return -1
	}
	return n
}

// Text returns the string at a path, or an empty string if there is none.
func Text(o *unstructured.Unstructured, path ...string) string {
	s, _, err := unstructured.NestedString(o.Object, path...)
	if err != nil {
		return err.Error()
	}
	return s
}

// Restarts returns how often the containers of a pod were started again.
func Restarts(pod *unstructured.Unstructured) (n int32, err error) {
	var typed corev1.Pod
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pod.Object, &typed); err != nil {
		return 0, fmt.Errorf("read pod %s: %w", pod.GetName(), err)
	}
	for i := range typed.Status.ContainerStatuses {
		n += typed.Status.ContainerStatuses[i].RestartCount
	}
	return n, nil
}

// Names returns the names of objects.
func Names(items []unstructured.Unstructured) []string {
	var out []string
	for _, item := range items {
		out = append(out, item.GetName())
	}
	return out
}

// Object is an object of the cluster, which may not exist.
type Object struct {
	cluster         *cluster.Cluster
	gvk             schema.GroupVersionKind
	namespace, name string
}

// Object returns the object of this name. The namespace is empty for kinds without one.
func (p *Platform) Object(gvk schema.GroupVersionKind, namespace, name string) Object {
	return Object{p.Cluster, gvk, namespace, name}
}

// Await waits until check accepts the object.
func (o Object) Await(ctx context.Context, step *run.Step, what string, check func(*unstructured.Unstructured) error) error {
	return step.Until(ctx, what, func(ctx context.Context) error {
		found, err := o.cluster.Get(ctx, o.gvk, o.namespace, o.name)
		if err != nil {
			return err
		}
		return check(found)
	})
}

// Edit applies a merge patch. It retries, since the API server rejects changes while a webhook is unavailable, and a scenario
// may have killed all pods of its operator.
func (o Object) Edit(ctx context.Context, step *run.Step, patch string) error {
	return step.Until(ctx, "the change of "+o.name+" is accepted", func(ctx context.Context) error {
		return o.cluster.Patch(ctx, o.gvk, o.namespace, o.name, patch)
	})
}

// NodePort returns the address at which a Service can be reached from outside the cluster.
func (p *Platform) NodePort(ctx context.Context, namespace, service string) (string, error) {
	node, err := p.Kubectl(ctx, "", "get", "nodes",
		"--output", `jsonpath={.items[0].status.addresses[?(@.type=="InternalIP")].address}`)
	if err != nil {
		return "", err
	}
	port, err := p.Kubectl(ctx, "", "get", "service", service, "--namespace", namespace,
		"--output", "jsonpath={.spec.ports[0].nodePort}")
	if err == nil && (node == "" || port == "") {
		err = fmt.Errorf("the node has the address %q, and Service %s the node port %q", node, service, port)
	}
	return net.JoinHostPort(node, port), err
}

// Leftovers returns an error that lists the objects of these kinds with the labels, or nil if none exist.
func (p *Platform) Leftovers(ctx context.Context, namespace string, labels map[string]string, kinds ...schema.GroupVersionKind) error {
	var left []string
	for _, kind := range kinds {
		items, err := p.List(ctx, kind, namespace, client.MatchingLabels(labels))
		if err != nil {
			return err
		}
		for _, item := range items {
			left = append(left, kind.Kind+" "+item.GetName())
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("objects left: %s", strings.Join(left, ", "))
	}
	return nil
}

// KillPods deletes the pods of a service with the shortest grace period, which simulates a crash. It is not zero: a forced
// deletion frees the name of a pod before its containers have ended, and then two servers write to one volume.
func (p *Platform) KillPods(ctx context.Context, namespace string, labels map[string]string) error {
	pods, err := p.List(ctx, cluster.Pod, namespace, client.MatchingLabels(labels))
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return fmt.Errorf("no pod in %s has the labels %v", namespace, labels)
	}
	for i := range pods {
		if err := client.IgnoreNotFound(p.Client.Delete(ctx, &pods[i], client.GracePeriodSeconds(1))); err != nil {
			return fmt.Errorf("kill pod %s: %w", pods[i].GetName(), err)
		}
	}
	return nil
}

// EvictPod evicts a pod through the Eviction API, as kubectl drain does. It retries until the disruption budget allows it.
func (p *Platform) EvictPod(ctx context.Context, step *run.Step, pod *unstructured.Unstructured) error {
	return step.Until(ctx, "the eviction of "+pod.GetName()+" is allowed", func(ctx context.Context) error {
		return p.Client.SubResource("eviction").Create(ctx, pod, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "policy/v1", "kind": "Eviction",
			"metadata": map[string]any{"name": pod.GetName(), "namespace": pod.GetNamespace()},
		}})
	})
}

// Ready waits until exactly want pods have these labels and all of them are ready.
func (p *Platform) Ready(ctx context.Context, step *run.Step, namespace string, labels map[string]string, want int) error {
	return step.Until(ctx, fmt.Sprintf("%d ready pods with %v", want, labels), func(ctx context.Context) error {
		pods, err := p.List(ctx, cluster.Pod, namespace, client.MatchingLabels(labels))
		if err != nil {
			return err
		}
		n := 0
		for i := range pods {
			if status, _ := Condition(&pods[i], "Ready"); status == "True" && pods[i].GetDeletionTimestamp() == nil {
				n++
			}
		}
		if n != want || len(pods) != want {
			return fmt.Errorf("%d of %d pods are ready", n, len(pods))
		}
		return nil
	})
}
