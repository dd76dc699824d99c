package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// fleet describes a kind of resource, and how to create, roll out and edit many of them.
type fleet struct {
	name string // prefix of the names of objects
	new  func(name string) *unstructured.Unstructured
	// arrived reports whether an object reached its desired state after its creation.
	arrived func(client.Object) bool
	// roll makes a change that replaces the pods of an object; rolled reports whether that is complete. Both may be nil.
	roll   func(*benchenv.Env) benchenv.Write
	rolled func(client.Object) bool
	// edit returns a change of the spec that replaces no pod, different for consecutive numbers. pods is the number of pods of
	// an object.
	edit func(int) map[string]any
	pods int
	// raw reports the cost of the same workload in Kubernetes without the operator.
	raw func(ctx context.Context, e *benchenv.Env, w fleet, n int, f *benchenv.Figures) error
}

func (w fleet) scenarios() []benchenv.Scenario {
	return []benchenv.Scenario{
		{Name: "create", OnRequest: true, Run: w.create},
		{Name: "small", Run: w.small},
		{Name: "large", Run: w.large},
		{Name: "fleet", OnRequest: true, Run: w.whole},
		{Name: "small" + benchenv.WithAggregator, Aggregator: true, Run: w.small},
		{Name: "large" + benchenv.WithAggregator, Aggregator: true, Run: w.large},
	}
}

// objects returns the objects with the numbers [from, to).
func (w fleet) objects(from, to int) []client.Object {
	var objects []client.Object
	for i := from; i < to; i++ {
		objects = append(objects, w.new(w.nameOf(i)))
	}
	return objects
}

func (w fleet) nameOf(i int) string { return fmt.Sprintf("%s-%03d", w.name, i) }

// create creates 50 objects, rolls them out if roll is set, and measures Kubernetes alone. It is the shortest scenario, for
// use after each change of the code.
func (w fleet) create(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	if err := w.createAndRoll(ctx, e, f); err != nil {
		return err
	}
	return w.raw(ctx, e, w, 50, f)
}

func (w fleet) createAndRoll(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	cost, err := e.Work(ctx, w.objects(0, 50), e.Create, w.arrived)
	if err != nil {
		return err
	}
	f.Created(50, cost)
	if w.roll == nil {
		return nil
	}
	if cost, err = e.Work(ctx, w.objects(0, 50), w.roll(e), w.rolled); err != nil {
		return err
	}
	f.Work("rollout50", cost)
	return nil
}

// small creates 50 objects, rolls them out if roll is set, creates 50 more, and measures a minute without changes.
func (w fleet) small(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	if err := w.createAndRoll(ctx, e, f); err != nil {
		return err
	}
	if _, err := e.Work(ctx, w.objects(50, 100), e.Create, w.arrived); err != nil {
		return err
	}
	idle, err := e.Idle(ctx)
	if err != nil {
		return err
	}
	f.Idle(100, idle)
	if e.Aggregator != nil {
		return nil
	}
	return w.raw(ctx, e, w, 50, f)
}

// large creates 500 objects at once.
func (w fleet) large(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	cost, err := e.Work(ctx, w.objects(0, 500), e.Create, w.arrived)
	if err != nil {
		return err
	}
	f.Created(500, cost)
	rss, err := e.Operator.RSS()
	if err != nil {
		return err
	}
	f.Report("rss_mb_at_500", rss/1e6, "MB")
	return nil
}

// rawMeta returns the metadata for a copy of an operator's object, without owner and in RawNamespace.
func rawMeta(name string, labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: benchenv.RawNamespace, Name: name, Labels: labels}
}

// inPhase returns a function that reports whether status.phase of an object has this value.
func inPhase(phase string) func(client.Object) bool {
	return func(obj client.Object) bool { return text(obj, "status", "phase") == phase }
}

func text(obj client.Object, path ...string) string {
	value, _, err := unstructured.NestedString(obj.(*unstructured.Unstructured).Object, path...)
	if err != nil {
		return ""
	}
	return value
}

// allAre returns a function that reports whether a field of the status, such as readyReplicas, equals spec.replicas.
func allAre(kind string) func(client.Object) bool {
	return func(obj client.Object) bool {
		object := obj.(*unstructured.Unstructured).Object
		want, _, wantErr := unstructured.NestedInt64(object, "spec", "replicas")
		have, _, haveErr := unstructured.NestedInt64(object, "status", kind)
		return wantErr == nil && haveErr == nil && have == want
	}
}

// whole measures a fleet of the size fleet: its creation, the rollout of the size rolled if roll is set, and a restart of the operator. During
// creation and rollout it measures how long the operator takes to observe an edit of an object in another namespace, and of one
// in the namespace of the fleet.
func (w fleet) whole(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	n := sizes["fleet"]
	if err := e.ScaleNodes(ctx, 2*n*w.pods); err != nil {
		return err
	}
	edited := map[string]*unstructured.Unstructured{} // by figure
	for figure, namespace := range map[string]string{
		"slowest_edit_seconds": benchenv.OtherNamespace, "slowest_edit_in_namespace_seconds": benchenv.Namespace,
	} {
		obj := w.new("edited")
		obj.SetNamespace(namespace)
		edited[figure] = obj
		if err := e.CreateAndWait(ctx, []client.Object{obj}, e.Create, w.arrived); err != nil {
			return err
		}
	}
	phase := func(name string, n int, write benchenv.Write, arrived func(client.Object) bool) error {
		var editors []func(context.Context) error
		for figure, obj := range edited {
			editors = append(editors, func(ctx context.Context) error {
				slowest, err := w.editing(ctx, e, obj)
				f.Report(fmt.Sprintf("%s%d.%s", name, n, figure), slowest.Seconds(), "s")
				return err
			})
		}
		cost, err := e.Work(ctx, w.objects(0, n), write, arrived, editors...)
		if err != nil {
			return err
		}
		f.Work(fmt.Sprintf("%s%d", name, n), cost)
		return reportMemory(e, f, fmt.Sprintf("%s%d.", name, n))
	}
	if err := phase("create", n, e.Create, w.arrived); err != nil {
		return err
	}
	if w.roll != nil {
		if err := phase("rollout", min(n, sizes["rolled"]), w.roll(e), w.rolled); err != nil {
			return err
		}
	}
	cost, err := e.Restart(ctx, n)
	if err != nil {
		return err
	}
	f.Work(fmt.Sprintf("restart%d", n), cost)
	return reportMemory(e, f, fmt.Sprintf("restart%d.", n))
}

// reportMemory reports the resident memory of the operator, the API server and etcd.
func reportMemory(e *benchenv.Env, f *benchenv.Figures, prefix string) error {
	rss, err := e.Operator.RSS()
	if err != nil {
		return err
	}
	f.Report(prefix+"rss_mb", rss/1e6, "MB")
	for _, process := range []string{"kube-apiserver", "etcd"} {
		rss, err := e.ControlPlaneRSS(process)
		if err != nil {
			return err
		}
		f.Report(prefix+strings.ReplaceAll(process, "-", "_")+"_rss_mb", rss/1e6, "MB")
	}
	return nil
}

// editing edits one object until ctx ends, each time after the operator has observed the previous edit. It returns the
// longest time from an edit to its observation.
func (w fleet) editing(ctx context.Context, e *benchenv.Env, edited *unstructured.Unstructured) (slowest time.Duration, err error) {
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return slowest, nil
		case <-time.After(500 * time.Millisecond):
		}
		duration, err := w.editOnce(context.WithoutCancel(ctx), e, edited.DeepCopy(), i)
		if err != nil {
			return slowest, fmt.Errorf("edit %s: %w", edited.GetName(), err)
		}
		slowest = max(slowest, duration)
	}
}

// editOnce returns the time from an edit to its observation.
func (w fleet) editOnce(ctx context.Context, e *benchenv.Env, obj *unstructured.Unstructured, i int) (time.Duration, error) {
	patch, err := json.Marshal(map[string]any{"spec": w.edit(i)})
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := e.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return 0, err
	}
	generation := obj.GetGeneration()
	err = await.Nil(ctx, time.Minute, 20*time.Millisecond, func(ctx context.Context) error {
		if err := e.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		n, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		if err == nil && n < generation {
			err = fmt.Errorf("observedGeneration is %d, want %d", n, generation)
		}
		return err
	})
	return time.Since(start), err
}
