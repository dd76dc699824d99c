package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
)

// Snapshot reduces the children to the facts that decisions use. It compares the StatefulSets with the rendered generations;
// the match of others is Unknown.
func (c Children) Snapshot(rendered map[int64]render.Generation) (engine.Snapshot, error) {
	out := engine.Snapshot{Route: c.Route(), Generations: map[int64]engine.Generation{}}
	for _, n := range c.generations() {
		g := c.reduce(n)
		live := c.StatefulSets[n]
		if live == nil {
			live = c.LastVersions[n]
		}
		if desired, ok := rendered[n]; ok && live != nil {
			var err error
			if g.Match, err = render.Compare(desired, live, c.settled); err != nil {
				return engine.Snapshot{}, err
			}
			g.Rendered = live.Annotations[names.AnnotationRenderingHash] == desired.Fingerprint
		}
		out.Generations[n] = g
	}
	return out, nil
}

// Route returns the generation that the cluster Service selects, or [engine.None]. A terminating Service
// counts: Kubernetes routes its traffic until it no longer exists.
func (c Children) Route() int64 {
	if c.Cluster == nil {
		return engine.None
	}
	if n, ok := names.ParseGeneration(c.Cluster.Spec.Selector); ok {
		return n
	}
	return engine.None
}

func (c Children) generations() []int64 {
	seen := map[int64]bool{}
	var out []int64
	add := func(n int64) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	for n := range c.StatefulSets {
		add(n)
	}
	for n := range c.Headless {
		add(n)
	}
	for n := range c.Configs {
		add(n)
	}
	for n := range c.LastVersions {
		add(n)
	}
	if len(c.NameConflicts) > 0 {
		add(c.current)
	}
	return out
}

func (c Children) reduce(n int64) engine.Generation {
	g := engine.Generation{Held: true}
	for _, part := range []struct {
		into *engine.Existence
		obj  metav1.Object
		have bool
	}{
		{&g.StatefulSet, c.StatefulSets[n], c.StatefulSets[n] != nil},
		{&g.Headless, c.Headless[n], c.Headless[n] != nil},
		{&g.Config, c.Configs[n], c.Configs[n] != nil},
	} {
		if !part.have {
			continue
		}
		*part.into = engine.Present
		if part.obj.GetDeletionTimestamp() != nil {
			*part.into = engine.Terminating
		}
		g.Held = g.Held && *part.into == engine.Terminating && hasForeignFinalizer(part.obj.GetFinalizers())
	}
	if set := c.StatefulSets[n]; set != nil {
		g.Replicas = ptr.Deref(set.Spec.Replicas, 1)
		g.Unlabeled = !containsAll(set.Labels, names.GenerationLabels(c.engine, n))
	}
	g.Restorable = g.StatefulSet == engine.Absent && c.LastVersions[n] != nil
	g.Taken = len(c.NameConflicts) > 0 && n == c.current
	g.PodsTotal, g.PodsReady = Count(c.Pods[n])
	return g
}

func containsAll(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}

// Count counts the pods that are neither terminating nor finished, and the ready ones among
// them: a terminating or evicted pod must not delay its replacement.
func Count(pods []corev1.Pod) (total, ready int32) {
	for i := range pods {
		p := &pods[i]
		if p.DeletionTimestamp != nil || p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded {
			continue
		}
		total++
		if p.Status.Phase != corev1.PodRunning {
			continue
		}
		for _, cond := range p.Status.Conditions {
			if cond.Type == corev1.PodReady && cond.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return total, ready
}

// hasForeignFinalizer reports whether a finalizer other than those of the garbage collector holds the object.
func hasForeignFinalizer(finalizers []string) bool { return len(foreignFinalizers(finalizers)) > 0 }

func foreignFinalizers(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
}
