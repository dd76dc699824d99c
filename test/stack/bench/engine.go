package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

var engineGroup = schema.GroupVersion{Group: "compute.firebolt.io", Version: "v1alpha1"}

var engines = fleet{
	name: "engine", new: newEngine, arrived: serves(0), roll: newImage, rolled: serves(1), raw: rawEngines, pods: 2,
	edit: func(i int) map[string]any { return map[string]any{"drainCheckEnabled": i%2 == 0} },
}

// newEngine returns the workload of the budget: two replicas. The drain check is off, since simulated pods have no metrics.
func newEngine(name string) *unstructured.Unstructured {
	return benchenv.Object(engineGroup, "FireboltEngine", benchenv.Namespace, name, map[string]any{
		"instanceRef": "bench", "replicas": int64(2), "drainCheckEnabled": false,
		"template": template("1"),
	})
}

// template returns the pod template for a version of the engine.
func template(version string) map[string]any {
	return map[string]any{"spec": map[string]any{"containers": []any{
		map[string]any{"name": "engine", "image": "ghcr.io/firebolt-db/engine:" + version},
	}}}
}

// warmUpEngines creates the instances of all engines, and a first engine.
func warmUpEngines(ctx context.Context, e *benchenv.Env) error {
	if err := createSecret(ctx, e, map[string]string{"username": "firebolt", "password": "only-for-this-bench"}); err != nil {
		return err
	}
	for _, namespace := range []string{benchenv.Namespace, benchenv.OtherNamespace} {
		instance := benchenv.Object(engineGroup, "FireboltInstance", namespace, "bench", map[string]any{
			"gateway": map[string]any{},
			"metadata": map[string]any{"postgres": map[string]any{
				"host": "postgres", "database": "firebolt", "credentialsSecretRef": map[string]any{"name": "bench"},
			}},
		})
		if err := e.CreateAndWait(ctx, []client.Object{instance}, e.Create, inPhase("Ready")); err != nil {
			return err
		}
	}
	return e.WarmUp(ctx, newEngine("warm-up"), engines.arrived)
}

// newImage returns a write that sets another image, which requires a rollout.
func newImage(e *benchenv.Env) benchenv.Write {
	return func(ctx context.Context, obj client.Object) error {
		patch, err := benchenv.Object(engineGroup, "FireboltEngine", obj.GetNamespace(), obj.GetName(), map[string]any{"template": template("2")}).MarshalJSON()
		if err != nil {
			return err
		}
		return e.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	}
}

// serves returns a function that reports whether an engine is stable with this or a later generation.
func serves(generation int64) func(client.Object) bool {
	return func(obj client.Object) bool {
		active, found, err := unstructured.NestedInt64(obj.(*unstructured.Unstructured).Object, "status", "activeGeneration")
		return err == nil && found && active >= generation && text(obj, "status", "phase") == "stable"
	}
}

const (
	engineLabel     = "firebolt.io/engine"
	generationLabel = "firebolt.io/generation"
)

// rawEngines reports the cost of Kubernetes alone. A plain client creates the StatefulSets, Services and ConfigMaps of n
// engines, and then replaces them: it creates the next generation, routes traffic to it, and deletes the first.
func rawEngines(ctx context.Context, e *benchenv.Env, engines fleet, n int, f *benchenv.Figures) error {
	first, err := copies(ctx, e, engines, n, "a")
	if err != nil {
		return err
	}
	second, err := copies(ctx, e, engines, n, "b")
	if err != nil {
		return err
	}
	cost, err := e.Raw(ctx, n, func(ctx context.Context) error {
		return e.CreateAndWait(ctx, first.sets(), first.create(e, true), allAre("readyReplicas"))
	})
	if err != nil {
		return err
	}
	f.Raw(fmt.Sprintf("create%d.raw_statefulsets", n), cost)
	cost, err = e.Raw(ctx, n, func(ctx context.Context) error {
		if err := e.CreateAndWait(ctx, second.sets(), second.create(e, false), allAre("readyReplicas")); err != nil {
			return err
		}
		if err := benchenv.Each(ctx, first.sets(), first.replaceBy(e, second)); err != nil {
			return err
		}
		return await.Nil(ctx, time.Minute, 100*time.Millisecond, func(ctx context.Context) error { return waitDeleted(ctx, e, "a") })
	})
	if err != nil {
		return err
	}
	f.Raw(fmt.Sprintf("rollout%d.raw_statefulsets", n), cost)
	return nil
}

// generation has the objects of one generation of an engine.
type generation struct {
	set      *appsv1.StatefulSet
	headless *corev1.Service
	config   *corev1.ConfigMap
	cluster  *corev1.Service
}

// engineCopies maps the names of StatefulSets to a generation of each engine.
type engineCopies struct {
	order []string
	of    map[string]generation
}

// copies returns copies of the objects that the operator created for the first n engines.
func copies(ctx context.Context, e *benchenv.Env, engines fleet, n int, suffix string) (engineCopies, error) {
	out := engineCopies{of: map[string]generation{}}
	for i := range n {
		name := engines.nameOf(i)
		var sets appsv1.StatefulSetList
		var services corev1.ServiceList
		var configs corev1.ConfigMapList
		for _, list := range []client.ObjectList{&sets, &services, &configs} {
			err := e.Client.List(ctx, list, client.InNamespace(benchenv.Namespace), client.MatchingLabels{engineLabel: name})
			if err != nil {
				return engineCopies{}, fmt.Errorf("list objects of engine %q: %w", name, err)
			}
		}
		if len(sets.Items) != 1 || len(services.Items) != 2 || len(configs.Items) != 1 {
			return engineCopies{}, fmt.Errorf("engine %q has %d StatefulSets, %d Services and %d ConfigMaps, want 1, 2 and 1",
				name, len(sets.Items), len(services.Items), len(configs.Items))
		}
		g := generation{set: &sets.Items[0], config: &configs.Items[0]}
		for i := range services.Items {
			if s := &services.Items[i]; s.Name == g.set.Spec.ServiceName {
				g.headless = s
			} else {
				g.cluster = s
			}
		}
		g.detach(suffix)
		out.order, out.of[g.set.Name] = append(out.order, g.set.Name), g
	}
	return out, nil
}

// detach renames the copies and removes their owners, so the operator does not control them.
func (g generation) detach(suffix string) {
	engine := g.set.Labels[engineLabel]
	labels := map[string]string{engineLabel: engine, generationLabel: suffix}
	g.set.ObjectMeta = rawMeta(engine+"-"+suffix, labels)
	g.config.ObjectMeta = rawMeta(engine+"-"+suffix+"-config", labels)
	g.headless.ObjectMeta = rawMeta(engine+"-"+suffix+"-hl", labels)
	g.cluster.ObjectMeta = rawMeta(engine+"-service", labels)
	g.set.Status = appsv1.StatefulSetStatus{}
	g.set.Spec.ServiceName = g.headless.Name
	g.set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	g.set.Spec.Template.Labels = labels
	for _, s := range []*corev1.Service{g.headless, g.cluster} {
		s.Status, s.Spec.ClusterIPs, s.Spec.Selector = corev1.ServiceStatus{}, nil, labels
	}
}

func (f engineCopies) sets() []client.Object {
	var out []client.Object
	for _, name := range f.order {
		out = append(out, f.of[name].set)
	}
	return out
}

// create returns a write that creates a whole generation, with or without the Service of users.
func (f engineCopies) create(e *benchenv.Env, cluster bool) benchenv.Write {
	return func(ctx context.Context, set client.Object) error {
		g := f.of[set.GetName()]
		for _, o := range []client.Object{g.config, g.headless} {
			if err := e.Client.Create(ctx, o); err != nil {
				return err
			}
		}
		if cluster {
			if err := e.Client.Create(ctx, g.cluster); err != nil {
				return err
			}
		}
		return e.Client.Create(ctx, set)
	}
}

// replaceBy returns a write that routes traffic to the other generation and deletes the first one.
func (f engineCopies) replaceBy(e *benchenv.Env, other engineCopies) benchenv.Write {
	return func(ctx context.Context, set client.Object) error {
		g := f.of[set.GetName()]
		next := other.of[strings.TrimSuffix(set.GetName(), "a")+"b"]
		routed := g.cluster.DeepCopy()
		routed.Spec.Selector = next.cluster.Spec.Selector
		if err := e.Client.Patch(ctx, routed, client.MergeFrom(g.cluster)); err != nil {
			return err
		}
		return errors.Join(
			e.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground)),
			e.Client.Delete(ctx, g.headless), e.Client.Delete(ctx, g.config),
		)
	}
}

// waitDeleted returns an error while a StatefulSet of the generation exists.
func waitDeleted(ctx context.Context, e *benchenv.Env, suffix string) error {
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSetList"})
	err := e.Client.List(ctx, left, client.InNamespace(benchenv.RawNamespace), client.MatchingLabels{generationLabel: suffix})
	if err == nil && len(left.Items) > 0 {
		return fmt.Errorf("%d StatefulSets still exist", len(left.Items))
	}
	return err
}
