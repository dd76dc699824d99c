package benchenv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

const (
	// timeout is the timeout of a measurement.
	timeout = 30 * time.Minute
	// writers is the number of concurrent writers of objects.
	writers = 8
	// quietPeriod is the period without writes after which the services count as settled.
	quietPeriod = 5 * time.Second
)

// Write writes one object with the client of an administrator.
type Write func(context.Context, client.Object) error

// Object returns a resource of a group with a spec.
func Object(group schema.GroupVersion, kind, namespace, name string, spec map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(group.WithKind(kind))
	obj.SetNamespace(namespace)
	obj.SetName(name)
	return obj
}

// CreateAndWait writes the objects with several writers, and waits until each has arrived at its desired state.
func (e *Env) CreateAndWait(ctx context.Context, objects []client.Object, write Write, arrived func(client.Object) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := Each(ctx, objects, write); err != nil {
			cancel(err)
		}
	})
	return e.Await(ctx, objects, arrived)
}

// Each writes the objects with several writers.
func Each(ctx context.Context, objects []client.Object, write Write) error {
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

// Create is a [Write] that creates an object.
func (e *Env) Create(ctx context.Context, obj client.Object) error { return e.Client.Create(ctx, obj) }

// Work measures the services from the first write of the objects until the services have settled. The functions in meanwhile
// run until all objects have arrived, when their context ends.
func (e *Env) Work(
	ctx context.Context, objects []client.Object, write Write, arrived func(client.Object) bool, concurrent ...func(context.Context) error,
) (*Cost, error) {
	var elapsed time.Duration
	c, err := e.measure(ctx, func(ctx context.Context) error {
		defer e.profile(ctx)()
		start := time.Now()
		end := startAll(ctx, concurrent)
		err := e.CreateAndWait(ctx, objects, write, arrived)
		elapsed = time.Since(start)
		if err := errors.Join(err, end()); err != nil {
			return err
		}
		return e.WaitSettled(ctx)
	})
	if err != nil {
		return nil, err
	}
	c.Objects, c.Seconds = len(objects), elapsed.Seconds()
	return c, nil
}

// startAll starts the functions. end cancels their context, waits for them, and returns their errors.
func startAll(ctx context.Context, functions []func(context.Context) error) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	errs := make([]error, len(functions))
	var wg sync.WaitGroup
	for i, f := range functions {
		wg.Go(func() { errs[i] = f(ctx) })
	}
	return func() error {
		cancel()
		wg.Wait()
		return errors.Join(errs...)
	}
}

// Idle measures the services for a minute without requests.
func (e *Env) Idle(ctx context.Context) (*Cost, error) {
	return e.measure(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Minute):
			return nil
		}
	})
}

// Raw stops the operator, if it runs, and measures the cost of work on n objects for the control plane alone.
func (e *Env) Raw(ctx context.Context, n int, work func(context.Context) error) (*Cost, error) {
	if err := e.Operator.Stop(ctx); err != nil {
		return nil, err
	}
	var elapsed time.Duration
	c, err := e.measure(ctx, func(ctx context.Context) error {
		start := time.Now()
		err := work(ctx)
		elapsed = time.Since(start)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.Objects, c.Seconds = n, elapsed.Seconds()
	return c, nil
}

// WarmUp creates one object, waits until it has arrived, deletes it, and waits until the services have settled.
func (e *Env) WarmUp(ctx context.Context, first *unstructured.Unstructured, arrived func(client.Object) bool) error {
	if err := e.CreateAndWait(ctx, []client.Object{first}, e.Create, arrived); err != nil {
		return err
	}
	if err := e.Client.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return fmt.Errorf("delete the first %s: %w", first.GetKind(), err)
	}
	err := await.Nil(ctx, time.Minute, pollInterval, func(ctx context.Context) error {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(first.GroupVersionKind())
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(first), live); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(fmt.Errorf("the first %s still exists", first.GetKind()), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return e.WaitSettled(ctx)
}

// measure returns the cost of the services during work.
func (e *Env) measure(ctx context.Context, work func(context.Context) error) (*Cost, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	_, mark, err := e.audit.Since(0)
	if err != nil {
		return nil, err
	}
	before, err := e.counters(ctx)
	if err != nil {
		return nil, err
	}
	if err := work(ctx); err != nil {
		return nil, err
	}
	after, err := e.counters(ctx)
	if err != nil {
		return nil, err
	}
	c := &Cost{Counters: after.minus(before)}
	log, _, err := e.audit.Since(mark)
	if err != nil {
		return nil, err
	}
	c.Requests, err = audit.Count(log, e.Operator.user())
	if err == nil && e.Aggregator != nil {
		c.Aggregator, err = audit.Count(log, e.Aggregator.user())
	}
	return c, err
}

// counters returns the counters of the control plane since its start and, if the operator runs, those of its process.
func (e *Env) counters(ctx context.Context) (Counters, error) {
	c, err := e.controlPlane()
	pid := e.Operator.pid()
	if err != nil || pid == 0 {
		return c, err
	}
	errs := make([]error, 3)
	c.CPUSeconds, errs[0] = proc.CPUSeconds(pid)
	c.ReadBytes, errs[1] = proc.ReadBytes(pid)
	c.Reconciles, errs[2] = e.Operator.Metric(ctx, "controller_runtime_reconcile_total")
	return c, errors.Join(errs...)
}

// WaitSettled waits until no service has written to the API server for the period quietPeriod. Engine instances read their
// credentials every few seconds.
func (e *Env) WaitSettled(ctx context.Context) error {
	_, mark, err := e.audit.Since(0)
	if err != nil {
		return err
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for last := time.Now(); time.Since(last) < quietPeriod; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the services have not settled: %w", context.Cause(ctx))
		case <-tick.C:
		}
		log, now, err := e.audit.Since(mark)
		if err != nil {
			return err
		}
		mark = now
		for _, service := range []*Service{e.Operator, e.Aggregator} {
			if service == nil {
				continue
			}
			counts, err := audit.Count(log, service.user())
			if err != nil {
				return err
			}
			if counts.Writes > 0 {
				last = time.Now()
			}
		}
	}
	return nil
}

func sum(parts map[string]float64) float64 {
	total := 0.0
	for _, seconds := range parts {
		total += seconds
	}
	return total
}

// Await waits until each object has arrived at its desired state. The objects must be of one kind and one namespace.
func (e *Env) Await(ctx context.Context, objects []client.Object, arrived func(client.Object) bool) error {
	pending := map[string]bool{}
	for _, obj := range objects {
		pending[obj.GetName()] = true
	}
	kind, err := apiutil.GVKForObject(objects[0], e.Client.Scheme())
	if err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	// The API server ends a watch after some minutes. The next watch starts with the current state of all objects.
	for len(pending) > 0 {
		if err := e.removeArrived(ctx, list, objects[0].GetNamespace(), pending, arrived); err != nil {
			return fmt.Errorf("%d of %d objects of kind %s have not arrived: %w", len(pending), len(objects), kind.Kind, err)
		}
	}
	return nil
}

// removeArrived watches the objects once, and removes those from pending that have arrived.
func (e *Env) removeArrived(ctx context.Context, list client.ObjectList, namespace string, pending map[string]bool, arrived func(client.Object) bool) error {
	watch, err := e.Client.Watch(ctx, list, client.InNamespace(namespace))
	if err != nil {
		return err
	}
	defer watch.Stop()
	for len(pending) > 0 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-watch.ResultChan():
			if !open {
				return nil
			}
			if obj, ok := event.Object.(client.Object); ok && arrived(obj) {
				delete(pending, obj.GetName())
			}
		}
	}
	return nil
}
