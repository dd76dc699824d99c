package observe

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// IndexEngine is the cache index that finds everything of one engine: the cost of a pass
// does not grow with the number of engines.
const IndexEngine = "flotilla.dev/engine"

// Register adds the index for every kind that is read here.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Pod{}} {
		err := indexer.IndexField(ctx, kind, IndexEngine, func(o client.Object) []string {
			if name := o.GetLabels()[names.LabelEngine]; name != "" {
				return []string{name}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index %T by engine: %w", kind, err)
		}
	}
	return nil
}

// Children is what exists of an engine, by generation. The objects belong to the cache
// and must not be changed.
type Children struct {
	Cluster      *corev1.Service
	StatefulSets map[int64]*appsv1.StatefulSet
	Headless     map[int64]*corev1.Service
	Configs      map[int64]*corev1.ConfigMap
	Pods         map[int64][]corev1.Pod

	// settled is true while the engine's spec is the one that was last rolled out.
	settled bool
}

// Read lists everything of the engine.
func Read(ctx context.Context, c client.Reader, e *v1.FireboltEngine) (Children, error) {
	out := Children{
		StatefulSets: map[int64]*appsv1.StatefulSet{}, Headless: map[int64]*corev1.Service{},
		Configs: map[int64]*corev1.ConfigMap{}, Pods: map[int64][]corev1.Pod{},
		settled: e.Status.ObservedGeneration == e.Generation,
	}
	of := []client.ListOption{client.InNamespace(e.Namespace), client.MatchingFields{IndexEngine: e.Name}, client.UnsafeDisableDeepCopy}
	var (
		sets     appsv1.StatefulSetList
		services corev1.ServiceList
		configs  corev1.ConfigMapList
		pods     corev1.PodList
	)
	for _, list := range []client.ObjectList{&sets, &services, &configs, &pods} {
		if err := c.List(ctx, list, of...); err != nil {
			return Children{}, fmt.Errorf("list %T of engine %q: %w", list, e.Name, err)
		}
	}
	for i := range sets.Items {
		keep(out.StatefulSets, e, &sets.Items[i], names.Generation)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Name == names.Cluster(e.Name) && metav1.IsControlledBy(s, e) {
			out.Cluster = s
			continue
		}
		keep(out.Headless, e, s, names.Headless)
	}
	for i := range configs.Items {
		keep(out.Configs, e, &configs.Items[i], names.Config)
	}
	for _, p := range pods.Items {
		if n, ok := names.ParseGeneration(p.Labels); ok {
			out.Pods[n] = append(out.Pods[n], p)
		}
	}
	return out, nil
}

// keep files an object under its generation, if it is the engine's and has the name that goes with it.
func keep[T client.Object](into map[int64]T, e *v1.FireboltEngine, o T, name func(string, int64) string) {
	if n, ok := names.ParseGeneration(o.GetLabels()); ok && metav1.IsControlledBy(o, e) && o.GetName() == name(e.Name, n) {
		into[n] = o
	}
}
