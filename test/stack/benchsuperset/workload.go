package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

const (
	// patience bounds one measurement.
	patience = 30 * time.Minute
	// writers create objects at the same time.
	writers = 8
	// quiet is how long no service may ask anything before its work counts as done.
	quiet = 5 * time.Second
)

var supersetKind = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}

// superset is the workload of the budget: web server and worker with two replicas, and beat.
func superset(name string) *unstructured.Unstructured {
	secret := func(key string) map[string]any { return map[string]any{"name": "bench", "key": key} }
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"environment":   "Staging",
		"image":         map[string]any{"repository": "apache/superset", "tag": "6.0.0"},
		"secretKeyFrom": secret("secret-key"),
		"metastore": map[string]any{
			"type": "PostgreSQL", "host": "postgres", "database": "superset", "username": "superset",
			"passwordFrom": secret("db-password"),
		},
		"valkey":       map[string]any{"host": "valkey"},
		"webServer":    map[string]any{"replicas": int64(2)},
		"celeryWorker": map[string]any{"replicas": int64(2)},
		"celeryBeat":   map[string]any{},
	}}}
	obj.SetGroupVersionKind(supersetKind)
	obj.SetNamespace(benchNamespace)
	obj.SetName(name)
	return obj
}

// warmUp lets the services fill their caches and learn the API before anything is measured.
func (l *lab) warmUp(ctx context.Context) error {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "bench"},
		StringData: map[string]string{"secret-key": "only-for-this-bench", "db-password": "only-for-this-bench"},
	}
	if err := l.client.Create(ctx, secret); err != nil {
		return fmt.Errorf("create the secret: %w", err)
	}
	first := superset("warm-up")
	if err := l.bring(ctx, []client.Object{first}, isRunning); err != nil {
		return err
	}
	if err := l.client.Delete(ctx, first, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
		return fmt.Errorf("delete the first superset: %w", err)
	}
	gone := func() error {
		if err := l.client.Get(ctx, client.ObjectKeyFromObject(first), superset("")); client.IgnoreNotFound(err) != nil || err == nil {
			return errors.Join(errors.New("the first superset is still there"), err)
		}
		return nil
	}
	if err := eventually(ctx, gone); err != nil {
		return err
	}
	return l.settled(ctx)
}

// create measures n new Supersets from the first apply until the services rest again.
func (l *lab) create(ctx context.Context, n int) (*cost, error) {
	var objects []client.Object
	for range n {
		objects = append(objects, superset(fmt.Sprintf("superset-%03d", l.created)))
		l.created++
	}
	var elapsed time.Duration
	c, err := l.measure(ctx, func(ctx context.Context) error {
		start := time.Now()
		if err := l.bring(ctx, objects, isRunning); err != nil {
			return err
		}
		elapsed = time.Since(start)
		return l.settled(ctx)
	})
	if err != nil {
		return nil, err
	}
	c.objects, c.seconds = n, elapsed.Seconds()
	return c, nil
}

// measure adds up what the services do during the work.
func (l *lab) measure(ctx context.Context, work func(context.Context) error) (*cost, error) {
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
	c := &cost{counters: after.minus(before)}
	log, _, err := l.audit.Since(mark)
	if err != nil {
		return nil, err
	}
	var errAggregator error
	c.requests, err = audit.Count(log, user(operatorName))
	c.aggregator, errAggregator = audit.Count(log, user(aggregatorName))
	return c, errors.Join(err, errAggregator)
}

// counters reads what has been used since the processes started.
func (l *lab) counters(ctx context.Context) (counters, error) {
	var c counters
	var errs [3]error
	c.cpuSeconds, errs[0] = cpuSeconds(l.operator.pid)
	c.reconciles, errs[1] = l.metrics.Metric(ctx, operatorName, "controller_runtime_reconcile_total")
	c.controlPlane, errs[2] = l.controlPlaneCPU()
	return c, errors.Join(errs[:]...)
}

// settled waits until no service has asked anything for a while.
func (l *lab) settled(ctx context.Context) error {
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
		for _, service := range []string{operatorName, aggregatorName} {
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

// bring creates the objects, some at a time, and returns when each has arrived where it should.
func (l *lab) bring(ctx context.Context, objects []client.Object, arrived func(client.Object) bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	defer wg.Wait()
	for w := range writers {
		wg.Go(func() {
			for i := w; i < len(objects); i += writers {
				if err := l.client.Create(ctx, objects[i].DeepCopyObject().(client.Object)); err != nil {
					cancel(fmt.Errorf("create %s: %w", objects[i].GetName(), err))
					return
				}
			}
		})
	}
	return l.await(ctx, objects, arrived)
}

func isRunning(obj client.Object) bool {
	phase, _, err := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, "status", "phase")
	return err == nil && phase == "Running"
}
