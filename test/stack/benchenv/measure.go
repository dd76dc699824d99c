package benchlab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

const (
	// patience bounds one measurement.
	patience = 30 * time.Minute
	// writers write objects at the same time.
	writers = 8
	// quiet is how long no service may ask anything before its work counts as done.
	quiet = 5 * time.Second
)

// Write is one write of an administrator.
type Write func(context.Context, client.Object) error

// Bring writes the objects, some at a time, and returns when each has arrived where it should. Nothing else may be
// measured meanwhile.
func (l *Lab) Bring(ctx context.Context, objects []client.Object, write Write, arrived func(client.Object) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := l.Each(ctx, objects, write); err != nil {
			cancel(err)
		}
	})
	return l.Await(ctx, objects, arrived)
}

// Each writes the objects, some at a time.
func (l *Lab) Each(ctx context.Context, objects []client.Object, write Write) error {
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := w; i < len(objects) && errs[w] == nil; i += writers {
				if err := write(ctx, objects[i].DeepCopyObject().(client.Object)); err != nil {
					errs[w] = fmt.Errorf("write %s: %w", objects[i].GetName(), err)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Create is a [Write].
func (l *Lab) Create(ctx context.Context, obj client.Object) error { return l.Client.Create(ctx, obj) }

// Work measures the services from the first write of the objects until they rest again.
func (l *Lab) Work(ctx context.Context, objects []client.Object, write Write, arrived func(client.Object) bool) (*Cost, error) {
	var elapsed time.Duration
	c, err := l.measure(ctx, func(ctx context.Context) error {
		start := time.Now()
		if err := l.Bring(ctx, objects, write, arrived); err != nil {
			return err
		}
		elapsed = time.Since(start)
		return l.Settled(ctx)
	})
	if err != nil {
		return nil, err
	}
	c.Objects, c.Seconds = len(objects), elapsed.Seconds()
	return c, nil
}

// Idle measures the services for a minute in which nothing is asked of them.
func (l *Lab) Idle(ctx context.Context) (*Cost, error) {
	return l.measure(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Minute):
			return nil
		}
	})
}

// Raw ends the operator, if it still runs, and measures what the work costs the control plane alone, for n objects.
func (l *Lab) Raw(ctx context.Context, n int, work func(context.Context) error) (*Cost, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	l.leaving.Store(true)
	if err := l.operator.stop(ctx); err != nil {
		return nil, err
	}
	before, err := l.controlPlaneCPU()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := work(ctx); err != nil {
		return nil, err
	}
	elapsed := time.Since(start)
	after, err := l.controlPlaneCPU()
	return &Cost{Objects: n, Seconds: elapsed.Seconds(), Counters: Counters{ControlPlane: after - before}}, err
}

// Rehearse brings one object to where it should be, deletes it, and waits until the services rest.
func (l *Lab) Rehearse(ctx context.Context, first *unstructured.Unstructured, arrived func(client.Object) bool) error {
	if err := l.Bring(ctx, []client.Object{first}, l.Create, arrived); err != nil {
		return err
	}
	if err := l.Client.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return fmt.Errorf("delete the first %s: %w", first.GetKind(), err)
	}
	gone := func() error {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(first.GroupVersionKind())
		if err := l.Client.Get(ctx, client.ObjectKeyFromObject(first), live); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(fmt.Errorf("the first %s is still there", first.GetKind()), err)
		}
		return nil
	}
	if err := Eventually(ctx, gone); err != nil {
		return err
	}
	return l.Settled(ctx)
}

// measure adds up what the services do during the work.
func (l *Lab) measure(ctx context.Context, work func(context.Context) error) (*Cost, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, mark, err := l.audit.Since(0)
	if err != nil {
		return nil, err
	}
	before, err := l.counters(ctx)
	if err != nil {
		return nil, err
	}
	if err := work(ctx); err != nil {
		return nil, err
	}
	after, err := l.counters(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cost{Counters: after.minus(before)}
	log, _, err := l.audit.Since(mark)
	if err != nil {
		return nil, err
	}
	var errAggregator error
	c.Requests, err = audit.Count(log, user(l.bench.Operator.Name))
	c.Aggregator, errAggregator = audit.Count(log, user(aggregator.Name))
	return c, errors.Join(err, errAggregator)
}

// counters reads what has been used since the processes started.
func (l *Lab) counters(ctx context.Context) (Counters, error) {
	var c Counters
	var errs [3]error
	c.CPUSeconds, errs[0] = cpuSeconds(l.operator.pid)
	c.Reconciles, errs[1] = l.metrics.Metric(ctx, l.bench.Operator.Name, "controller_runtime_reconcile_total")
	c.ControlPlane, errs[2] = l.controlPlaneCPU()
	return c, errors.Join(errs[:]...)
}

// Settled waits until no service has asked anything for a while.
func (l *Lab) Settled(ctx context.Context) error {
	_, mark, err := l.audit.Since(0)
	if err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < quiet; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the services do not come to rest: %w", context.Cause(ctx))
		case <-tick.C:
		}
		log, now, err := l.audit.Since(mark)
		if err != nil {
			return err
		}
		mark = now
		for _, service := range []string{l.bench.Operator.Name, aggregator.Name} {
			counts, err := audit.Count(log, user(service))
			if err != nil {
				return err
			}
			if counts.Requests > 0 {
				last = time.Now()
			}
		}
	}
	return nil
}

// RSS returns the resident memory of the operator in bytes.
func (l *Lab) RSS() (float64, error) { return l.operator.rss() }

// WithAggregator says whether the aggregator takes part.
func (l *Lab) WithAggregator() bool { return l.aggregator != nil }

// Go runs the go command in the operator's module and returns what it prints.
func (l *Lab) Go(ctx context.Context, args ...string) (string, error) {
	out, err := l.command(ctx, l.bench.Operator.Name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return string(out), nil
}
