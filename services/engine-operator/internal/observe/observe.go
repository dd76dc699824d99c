package observe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// IndexEngine is the cache index of the objects of one engine: the cost of a reconcile
// does not grow with the number of engines.
const IndexEngine = "flotilla.dev/engine"

// Register adds the indexes of this package.
func Register(ctx context.Context, indexer client.FieldIndexer) error {
	for _, kind := range []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.ConfigMap{}, &corev1.Pod{}} {
		err := indexer.IndexField(ctx, kind, IndexEngine, enginesOf)
		if err != nil {
			return fmt.Errorf("index %T by engine: %w", kind, err)
		}
	}
	return registerReferences(ctx, indexer)
}

// enginesOf returns the engine that controls the object, and the one that its label names:
// either may be wrong or absent, and users of the index check the controller reference.
func enginesOf(o client.Object) []string {
	var out []string
	if owner := metav1.GetControllerOf(o); owner != nil && IsManaged(o) && owner.Kind == "FireboltEngine" {
		out = append(out, owner.Name)
	}
	if name := o.GetLabels()[names.LabelEngine]; name != "" && !slices.Contains(out, name) {
		out = append(out, name)
	}
	return out
}

// IsManaged reports whether a resource of this operator controls the object.
func IsManaged(o client.Object) bool {
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return false
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	return group == v1alpha1.GroupVersion.Group
}

// Children are the objects of an engine by generation. They belong to the cache
// and must not be changed.
type Children struct {
	Cluster *corev1.Service
	// LastVersions holds the last known version of StatefulSets that were deleted, as far as it is remembered.
	LastVersions map[int64]*appsv1.StatefulSet
	// NameConflicts lists the objects of other owners that have names of the current generation.
	NameConflicts []string
	StatefulSets  map[int64]*appsv1.StatefulSet
	Headless      map[int64]*corev1.Service
	Configs       map[int64]*corev1.ConfigMap
	Pods          map[int64][]corev1.Pod

	engine  string
	current int64
	// settled is true while the engine's spec equals the spec of the last rollout.
	settled bool
}

// Read lists all objects of the engine.
func Read(ctx context.Context, c client.Reader, e *v1alpha1.FireboltEngine) (Children, error) {
	out := Children{
		StatefulSets: map[int64]*appsv1.StatefulSet{}, Headless: map[int64]*corev1.Service{},
		Configs: map[int64]*corev1.ConfigMap{}, Pods: map[int64][]corev1.Pod{},
		engine: e.Name, current: e.Status.CurrentGeneration, settled: e.Status.ObservedGeneration == e.Generation,
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
		add(out.StatefulSets, e, &sets.Items[i], names.Generation)
	}
	for i := range services.Items {
		s := &services.Items[i]
		if s.Name == names.Cluster(e.Name) && metav1.IsControlledBy(s, e) {
			out.Cluster = s
			continue
		}
		add(out.Headless, e, s, names.Headless)
	}
	for i := range configs.Items {
		add(out.Configs, e, &configs.Items[i], names.Config)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		owner := metav1.GetControllerOf(p)
		if owner == nil || owner.Kind != "StatefulSet" {
			continue
		}
		n, ok := names.GenerationOf(owner.Name, e.Name, names.Generation)
		if set := out.StatefulSets[n]; ok && (set == nil || set.UID == owner.UID) {
			out.Pods[n] = append(out.Pods[n], *p)
		}
	}
	var err error
	if e.Status.Phase == v1alpha1.PhaseCreating {
		out.NameConflicts, err = nameConflicts(ctx, c, e)
	}
	return out, err
}

// add stores an object under its generation, if the engine controls it and its name is that
// of a generation. Labels do not count: any user can change them.
func add[T client.Object](into map[int64]T, e *v1alpha1.FireboltEngine, o T, name func(string, int64) string) {
	if n, ok := names.GenerationOf(o.GetName(), e.Name, name); ok && metav1.IsControlledBy(o, e) {
		into[n] = o
	}
}

// nameConflicts lists the objects that have names of the current generation and that the engine does not control.
func nameConflicts(ctx context.Context, c client.Reader, e *v1alpha1.FireboltEngine) ([]string, error) {
	n := e.Status.CurrentGeneration
	var out []string
	for _, o := range []struct {
		kind, name string
		object     client.Object
	}{
		{"StatefulSet", names.Generation(e.Name, n), &appsv1.StatefulSet{}},
		{"Service", names.Headless(e.Name, n), &corev1.Service{}},
		{"ConfigMap", names.Config(e.Name, n), &corev1.ConfigMap{}},
	} {
		err := c.Get(ctx, client.ObjectKey{Namespace: e.Namespace, Name: o.name}, o.object, client.UnsafeDisableDeepCopy)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("get %s %q: %w", o.kind, o.name, err)
		case !metav1.IsControlledBy(o.object, e):
			out = append(out, o.kind+" "+o.name)
		}
	}
	return out, nil
}
