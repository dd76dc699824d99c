// Package status measures the status-aggregator.
package status

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

var supersetGroup = schema.GroupVersion{Group: "superset.apache.org", Version: "v1alpha1"}

const (
	// flipped is the number of resources that change. Each becomes unavailable and available again, which is two samples.
	flipped = 250
	// every is the time between two changes.
	every = 50 * time.Millisecond
)

// Latency runs the Superset operator, the aggregator and NATS on a control plane with simulated pods, with one Deployment and
// one pod for each of n Supersets. It makes 20 pods per second unready, and then ready again. A sample runs from the event of a
// watch in which the available replicas of the Deployment change to the event in which Available of the Superset changes. It
// contains the operator's watch and reconcile, the bus, the debounce and computation of the aggregator, and the write of the
// condition. Before that, Latency measures the writes of both services in a minute without changes
// (status.idle.writes_per_minute).
func Latency(ctx context.Context, e *benchenv.Env, n int, f *benchenv.Figures) error {
	flags, err := e.StartAggregator(ctx)
	if err != nil {
		return err
	}
	if _, err := e.Operator.Start(flags...); err != nil {
		return err
	}
	benchenv.Note("creating %d Supersets and waiting until they are available", n)
	if err := e.CreateAndWait(ctx, smallSupersets(n), e.Create, isAvailable); err != nil {
		return err
	}
	if err := e.WaitSettled(ctx); err != nil {
		return err
	}
	idle, err := e.Idle(ctx)
	if err != nil {
		return err
	}
	f.Report("idle.writes_per_minute", float64(idle.Requests.Writes+idle.Aggregator.Writes), "requests")
	samples, err := flips(ctx, e, min(n, flipped))
	if err != nil {
		return err
	}
	if len(samples) == 0 {
		return errors.New("no latency was measured")
	}
	benchenv.Note("%d samples of the latency, from %s to %s", len(samples), slices.Min(samples), slices.Max(samples))
	f.Report("latency.p50_ms", benchenv.Percentile(samples, 0.50), "ms")
	f.Report("latency.p99_ms", benchenv.Percentile(samples, 0.99), "ms")
	return nil
}

// flips makes one pod after the other unready, then ready again, and returns the latency of each change from Deployment to
// Superset.
func flips(ctx context.Context, e *benchenv.Env, n int) ([]time.Duration, error) {
	pods, err := podsOf(ctx, e, n)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newStopwatch()
	if err := w.watchDeployments(ctx, e.Client, cancel); err != nil {
		return nil, err
	}
	if err := w.watchConditions(ctx, e.Client, cancel); err != nil {
		return nil, err
	}
	for turn, value := range []string{fmt.Sprintf("%q", controlplane.FailNeverReady), "null"} {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, controlplane.FailAnnotation, value)
		tick := time.NewTicker(every)
		for _, pod := range pods {
			if err := e.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				tick.Stop()
				return nil, fmt.Errorf("patch pod %s: %w", pod.Name, err)
			}
			<-tick.C
		}
		tick.Stop()
		changed := func(context.Context) error { return w.seen(len(pods), turn+1) }
		if err := await.Nil(ctx, time.Minute, 100*time.Millisecond, changed); err != nil {
			return nil, err
		}
	}
	return w.samples(), nil
}

// podsOf returns the pod of each of n Supersets.
func podsOf(ctx context.Context, e *benchenv.Env, n int) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := e.Client.List(ctx, list, client.InNamespace(benchenv.Namespace)); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || !strings.Contains(p.Name, webServer)
	})
	if len(pods) < n {
		return nil, fmt.Errorf("got %d pods for %d Supersets", len(pods), n)
	}
	return pods[:n], nil
}

// smallSupersets returns n minimal Supersets: a web server with one pod, and no tasks.
func smallSupersets(n int) []client.Object {
	var out []client.Object
	for i := range n {
		out = append(out, benchenv.Object(supersetGroup, "Superset", benchenv.Namespace, fmt.Sprintf("s-%05d", i), map[string]any{
			"environment": "Development",
			"image":       map[string]any{"tag": "6.0.0"},
			"secretKey":   "only-for-this-bench",
			"metastore":   map[string]any{"uri": "sqlite:////tmp/superset.db"},
			"lifecycle":   map[string]any{"disabled": true},
			"webServer":   map[string]any{"replicas": int64(1)},
		}))
	}
	return out
}

// available returns the condition Available of an object, or a zero value.
func available(obj client.Object) metav1.Condition {
	conditions, err := expect.Conditions(obj)
	if found := meta.FindStatusCondition(conditions, "Available"); err == nil && found != nil {
		return *found
	}
	return metav1.Condition{}
}

// isAvailable reports whether an object is available for its latest generation.
func isAvailable(obj client.Object) bool {
	c := available(obj)
	return c.Status == metav1.ConditionTrue && c.ObservedGeneration == obj.GetGeneration()
}
