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

// stopwatch records when each resource became available or unavailable, in its cause and in its condition.
type stopwatch struct {
	mu         sync.Mutex
	causes     map[string]*changes
	conditions map[string]*changes
}

// changes has the times of the changes of a boolean.
type changes struct {
	is bool
	at []time.Time
}

func newStopwatch() *stopwatch {
	return &stopwatch{causes: map[string]*changes{}, conditions: map[string]*changes{}}
}

// watchDeployments records Deployments as causes.
func (w *stopwatch) watchDeployments(ctx context.Context, c client.WithWatch, fail context.CancelCauseFunc) error {
	return observed(ctx, c, fail, &appsv1.DeploymentList{}, func(obj client.Object) {
		d := obj.(*appsv1.Deployment)
		w.note(w.causes, strings.TrimSuffix(d.Name, webServer), d.Status.AvailableReplicas > 0)
	})
}

// watchConditions records the conditions of Supersets.
func (w *stopwatch) watchConditions(ctx context.Context, c client.WithWatch, fail context.CancelCauseFunc) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(supersetGroup.WithKind("SupersetList"))
	return observed(ctx, c, fail, list, func(obj client.Object) {
		w.note(w.conditions, obj.GetName(), available(obj).Status == metav1.ConditionTrue)
	})
}

// observed calls note for each object and each change. A watch that ends before ctx fails the measurement.
func observed(ctx context.Context, c client.WithWatch, fail context.CancelCauseFunc, list client.ObjectList, note func(client.Object)) error {
	events, err := c.Watch(ctx, list, client.InNamespace(benchenv.Namespace))
	if err != nil {
		return fmt.Errorf("watch: %w", err)
	}
	go func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			if obj, ok := event.Object.(client.Object); ok && event.Type != watch.Deleted {
				note(obj)
			}
		}
		if ctx.Err() == nil {
			fail(errors.New("a watch ended"))
		}
	}()
	return nil
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

// known returns an error until the conditions of n resources were recorded.
func (w *stopwatch) known(n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.conditions) < n {
		return fmt.Errorf("%d of %d resources are known", len(w.conditions), n)
	}
	return nil
}

// seen returns an error until n resources have changed at least this many times, cause and condition.
func (w *stopwatch) seen(n, times int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	done := 0
	for name, d := range w.causes {
		if c := w.conditions[name]; c != nil && len(d.at) >= times && len(c.at) >= times {
			done++
		}
	}
	if done < n {
		return fmt.Errorf("%d of %d resources have changed", done, n)
	}
	return nil
}

// samples returns the time from each change of a cause to the change of the condition. Events of two watches can arrive out of
// order, so negative times count as 0.
func (w *stopwatch) samples() []time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []time.Duration
	for name, d := range w.causes {
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
