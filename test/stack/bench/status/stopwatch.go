package status

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// webServer is the suffix of the name of a Superset's Deployment.
const webServer = "-web-server"

// stopwatch records when each resource became available or unavailable, in its Deployment and in its condition.
type stopwatch struct {
	mu          sync.Mutex
	deployments map[string]*changes
	conditions  map[string]*changes
}

// changes has the times of the changes of a boolean.
type changes struct {
	is bool
	at []time.Time
}

func newStopwatch() *stopwatch {
	return &stopwatch{deployments: map[string]*changes{}, conditions: map[string]*changes{}}
}

// start watches Deployments and Supersets. A watch that ends before ctx fails the measurement.
func (w *stopwatch) start(ctx context.Context, c client.WithWatch, fail context.CancelCauseFunc) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(supersetGroup.WithKind("SupersetList"))
	for _, one := range []struct {
		list client.ObjectList
		note func(client.Object)
	}{{&appsv1.DeploymentList{}, w.deployment}, {list, w.superset}} {
		events, err := c.Watch(ctx, one.list, client.InNamespace(benchenv.Namespace))
		if err != nil {
			return fmt.Errorf("watch: %w", err)
		}
		go func() {
			defer events.Stop()
			for event := range events.ResultChan() {
				if obj, ok := event.Object.(client.Object); ok && event.Type != watch.Deleted {
					one.note(obj)
				}
			}
			if ctx.Err() == nil {
				fail(errors.New("a watch ended"))
			}
		}()
	}
	return nil
}

func (w *stopwatch) deployment(obj client.Object) {
	d := obj.(*appsv1.Deployment)
	w.note(w.deployments, strings.TrimSuffix(d.Name, webServer), d.Status.AvailableReplicas > 0)
}

func (w *stopwatch) superset(obj client.Object) {
	w.note(w.conditions, obj.GetName(), available(obj).Status == metav1.ConditionTrue)
}

func (w *stopwatch) note(of map[string]*changes, name string, is bool) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := of[name]
	if !ok {
		of[name] = &changes{is: is}
		return
	}
	if known.is != is {
		known.is = is
		known.at = append(known.at, now)
	}
}

// seen returns an error until n resources have changed at least this many times in both watches.
func (w *stopwatch) seen(n, times int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := 0
	for name, d := range w.deployments {
		if c := w.conditions[name]; c != nil && len(d.at) >= times && len(c.at) >= times {
			done++
		}
	}
	if done < n {
		return fmt.Errorf("%d of %d resources have changed", done, n)
	}
	return nil
}

// samples returns the time from each change of a Deployment to the change of the condition. Events of the two watches can
// arrive out of order, so negative times count as 0.
func (w *stopwatch) samples() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []time.Duration
	for name, d := range w.deployments {
		c := w.conditions[name]
		if c == nil {
			continue
		}
		for i := range min(len(d.at), len(c.at)) {
			out = append(out, max(0, c.at[i].Sub(d.at[i])))
		}
	}
	return out
}
