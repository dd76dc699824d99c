package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

const (
	engineLabel     = "firebolt.io/engine"
	generationLabel = "firebolt.io/generation"
)

// raw reports what Kubernetes alone takes for the StatefulSets, Services and ConfigMaps of n engines, created by a plain
// client that knows what it wants, and then for replacing them: the other generation, its traffic, and the end of the first.
func raw(ctx context.Context, l *benchlab.Lab, n int, f *benchlab.Figures) error {
	first, err := copies(ctx, l, n, "a")
	if err != nil {
		return err
	}
	second, err := copies(ctx, l, n, "b")
	if err != nil {
		return err
	}
	cost, err := l.Raw(ctx, n, func(ctx context.Context) error {
		return l.Bring(ctx, first.sets(), first.create(l, true), isReady)
	})
	if err != nil {
		return err
	}
	f.Raw(fmt.Sprintf("create%d.raw_statefulsets", n), cost)
	cost, err = l.Raw(ctx, n, func(ctx context.Context) error {
		if err := l.Bring(ctx, second.sets(), second.create(l, false), isReady); err != nil {
			return err
		}
		if err := l.Each(ctx, first.sets(), first.replaceBy(l, second)); err != nil {
			return err
		}
		return benchlab.Eventually(ctx, func() error { return gone(ctx, l, "a") })
	})
	if err != nil {
		return err
	}
	f.Raw(fmt.Sprintf("rollout%d.raw_statefulsets", n), cost)
	return nil
}

// generation is what an engine consists of, as Kubernetes would get it from somebody else.
type generation struct {
	set      *appsv1.StatefulSet
	headless *corev1.Service
	config   *corev1.ConfigMap
	cluster  *corev1.Service
}

// fleet is a generation of each engine, by the name of its StatefulSet.
type fleet struct {
	order []string
	of    map[string]generation
}

// copies takes what the operator made of the first n engines.
func copies(ctx context.Context, l *benchlab.Lab, n int, suffix string) (fleet, error) {
	out := fleet{of: map[string]generation{}}
	for i := range n {
		name := fmt.Sprintf("engine-%03d", i)
		var sets appsv1.StatefulSetList
		var services corev1.ServiceList
		var configs corev1.ConfigMapList
		for _, list := range []client.ObjectList{&sets, &services, &configs} {
			err := l.Client.List(ctx, list, client.InNamespace(benchlab.Namespace), client.MatchingLabels{engineLabel: name})
			if err != nil {
				return fleet{}, fmt.Errorf("list what engine %q consists of: %w", name, err)
			}
		}
		if len(sets.Items) != 1 || len(services.Items) != 2 || len(configs.Items) != 1 {
			return fleet{}, fmt.Errorf("engine %q has %d statefulsets, %d services, %d configmaps",
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

// detach makes the copies objects of their own, that nobody but Kubernetes looks after.
func (g generation) detach(suffix string) {
	engine := g.set.Labels[engineLabel]
	labels := map[string]string{engineLabel: engine, generationLabel: suffix}
	fresh := func(o *metav1.ObjectMeta, name string) {
		*o = metav1.ObjectMeta{Namespace: benchlab.RawNamespace, Name: name, Labels: labels}
	}
	fresh(&g.set.ObjectMeta, engine+"-"+suffix)
	fresh(&g.config.ObjectMeta, engine+"-"+suffix+"-config")
	fresh(&g.headless.ObjectMeta, engine+"-"+suffix+"-hl")
	fresh(&g.cluster.ObjectMeta, engine+"-service")
	g.set.Status = appsv1.StatefulSetStatus{}
	g.set.Spec.ServiceName = g.headless.Name
	g.set.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	g.set.Spec.Template.Labels = labels
	for _, s := range []*corev1.Service{g.headless, g.cluster} {
		s.Status, s.Spec.ClusterIPs, s.Spec.Selector = corev1.ServiceStatus{}, nil, labels
	}
}

func (f fleet) sets() []client.Object {
	var out []client.Object
	for _, name := range f.order {
		out = append(out, f.of[name].set)
	}
	return out
}

// create is a write of a whole generation, with or without the Service that users know.
func (f fleet) create(l *benchlab.Lab, cluster bool) benchlab.Write {
	return func(ctx context.Context, set client.Object) error {
		g := f.of[set.GetName()]
		for _, o := range []client.Object{g.config, g.headless} {
			if err := l.Client.Create(ctx, o); err != nil {
				return err
			}
		}
		if cluster {
			if err := l.Client.Create(ctx, g.cluster); err != nil {
				return err
			}
		}
		return l.Client.Create(ctx, set)
	}
}

// replaceBy is a write that moves the traffic from one generation to the other and deletes the first.
func (f fleet) replaceBy(l *benchlab.Lab, other fleet) benchlab.Write {
	return func(ctx context.Context, set client.Object) error {
		g := f.of[set.GetName()]
		next := other.of[strings.TrimSuffix(set.GetName(), "a")+"b"]
		routed := g.cluster.DeepCopy()
		routed.Spec.Selector = next.cluster.Spec.Selector
		if err := l.Client.Patch(ctx, routed, client.MergeFrom(g.cluster)); err != nil {
			return err
		}
		return errors.Join(
			l.Client.Delete(ctx, set, client.PropagationPolicy(metav1.DeletePropagationForeground)),
			l.Client.Delete(ctx, g.headless), l.Client.Delete(ctx, g.config),
		)
	}
}

// gone is an error while a StatefulSet of the generation is left.
func gone(ctx context.Context, l *benchlab.Lab, suffix string) error {
	left := &metav1.PartialObjectMetadataList{}
	left.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSetList"})
	err := l.Client.List(ctx, left, client.InNamespace(benchlab.RawNamespace), client.MatchingLabels{generationLabel: suffix})
	if err == nil && len(left.Items) > 0 {
		return fmt.Errorf("%d statefulsets are left", len(left.Items))
	}
	return err
}

func isReady(obj client.Object) bool {
	object := obj.(*unstructured.Unstructured).Object
	want, _, wantErr := unstructured.NestedInt64(object, "spec", "replicas")
	have, _, haveErr := unstructured.NestedInt64(object, "status", "readyReplicas")
	return wantErr == nil && haveErr == nil && have == want
}
