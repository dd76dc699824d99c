package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine"
	"github.com/flotilla-dev/flotilla/libs/testkit/stubengine/server"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/drain"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// nodes runs a real process for every engine pod of a test environment, and writes its address into
// the pod, like a kubelet. Unlike a kubelet it kills a process as soon as
// its pod is deleted, which cuts off a query that the operator did not wait for.
type nodes struct {
	*testEnv
	mu sync.Mutex
	of map[types.UID]*stubengine.Node
	by map[string]*stubengine.Node // by pod name
}

// newNodes replaces the environment's operator with one that queries the processes.
func newNodes(t *testing.T) *nodes {
	t.Helper()
	n := &nodes{testEnv: newTestEnv(t), of: map[types.UID]*stubengine.Node{}, by: map[string]*stubengine.Node{}}
	ports, err := stubengine.Ports()
	if err != nil {
		t.Fatal(err)
	}
	n.stopAndWait()
	n.transport = drain.NewPodIP(ports.Metrics)
	n.run()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.keep(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return n
}

// keep watches the pods until the context ends, and then ends all processes.
func (n *nodes) keep(ctx context.Context) error {
	defer func() {
		for _, node := range n.of {
			node.Kill()
		}
	}()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		var pods corev1.PodList
		if err := n.api.List(ctx, &pods, client.InNamespace(n.namespace), client.HasLabels{names.LabelEngine}); err != nil {
			return err
		}
		n.end(pods.Items)
		for i := range pods.Items {
			if err := n.startPod(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
	}
}

// end kills the processes of deleted and terminating pods.
func (n *nodes) end(pods []corev1.Pod) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid, node := range n.of {
		exists := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.UID == uid && p.DeletionTimestamp == nil })
		if !exists {
			node.Kill()
			delete(n.of, uid)
		}
	}
}

// startPod starts the process of a running pod.
func (n *nodes) startPod(ctx context.Context, pod *corev1.Pod) error {
	if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil || n.of[pod.UID] != nil {
		return nil
	}
	node, err := stubengine.Launch(ctx, time.Minute)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.of[pod.UID], n.by[pod.Name] = node, node
	n.mu.Unlock()
	before := pod.DeepCopy()
	pod.Status.PodIP, pod.Status.PodIPs = node.Address, []corev1.PodIP{{IP: node.Address}}
	return client.IgnoreNotFound(n.api.Status().Patch(ctx, pod, client.MergeFrom(before)))
}

// process returns the process of a pod, once the pod shows its address.
func (n *nodes) process(name string) *stubengine.Node {
	n.t.Helper()
	var node *stubengine.Node
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = n.namespace, name
	expect.Object(n.t, n.api, pod, func(p *corev1.Pod) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		if node = n.by[name]; node == nil || p.Status.PodIP != node.Address {
			return fmt.Errorf("its address is %q, not that of its process", p.Status.PodIP)
		}
		return nil
	})
	return node
}

// setMode sets the mode of the metrics ports of some pods.
func (n *nodes) setMode(mode server.Mode, pods ...string) {
	n.t.Helper()
	for _, p := range pods {
		if err := n.process(p).Metrics(n.t.Context(), mode); err != nil {
			n.t.Fatal(err)
		}
	}
}

// hold runs a query on a pod and returns once the pod counts it. ended receives the result;
// cancel aborts the query.
func (n *nodes) hold(pod string, length time.Duration) (ended <-chan error, cancel context.CancelFunc) {
	n.t.Helper()
	node := n.process(pod)
	before, err := node.Stats(n.t.Context())
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(n.t.Context())
	end := make(chan error, 1)
	go func() { end <- node.Query(ctx, length) }()
	expect.Eventually(n.t, expect.Long, func() error {
		if s, err := node.Stats(n.t.Context()); err != nil || s.Running <= before.Running {
			return fmt.Errorf("stats %+v, %w", s, err)
		}
		return nil
	})
	return end, cancel
}

// clients run queries continuously on the pods that the cluster Service selects.
// The returned function waits for the last ones, and returns the number of successful queries and the
// errors.
func (n *nodes) clients(e *v1alpha1.FireboltEngine, count int, length time.Duration) func() (answered int, problems []string) {
	name := names.Cluster(e.Name) // e changes concurrently
	var (
		mu       sync.Mutex
		all      sync.WaitGroup
		answered int
		problems []string
	)
	stop := make(chan struct{})
	for i := range count {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := n.query(n.t.Context(), name, i, length)
				mu.Lock()
				if err == nil {
					answered++
				} else {
					problems = append(problems, err.Error())
				}
				mu.Unlock()
			}
		})
	}
	return func() (int, []string) {
		close(stop)
		all.Wait()
		return answered, problems
	}
}

// query runs one query, on the address of the Service at its start.
func (n *nodes) query(ctx context.Context, service string, i int, length time.Duration) error {
	for {
		s := &corev1.Service{}
		if err := n.api.Get(ctx, client.ObjectKey{Namespace: n.namespace, Name: service}, s); err != nil {
			return err
		}
		var pods corev1.PodList
		if err := n.api.List(ctx, &pods, client.InNamespace(n.namespace), client.MatchingLabels(s.Spec.Selector)); err != nil {
			return err
		}
		var running []*stubengine.Node
		n.mu.Lock()
		for _, p := range pods.Items {
			if node := n.of[p.UID]; node != nil {
				running = append(running, node)
			}
		}
		n.mu.Unlock()
		if len(running) > 0 {
			node := running[i%len(running)]
			if err := node.Query(ctx, length); err != nil {
				return fmt.Errorf("query on %s: %w", node.Address, err)
			}
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(25 * time.Millisecond): // ready pods get their processes with a delay
		}
	}
}
