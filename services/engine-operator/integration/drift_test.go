package integration

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// renderEnv is a namespace in which StatefulSets are written like the operator writes them, without a
// controller.
type renderEnv struct {
	t         *testing.T
	api       client.Client
	namespace string
	owner     *v1alpha1.FireboltEngine
	writer    *apply.Applier
	numbers   int64
}

func newRenderEnv(t *testing.T) *renderEnv {
	t.Helper()
	b := &renderEnv{t: t, api: apiServer(t), namespace: cluster.Get(t).Namespace(t), owner: engineOf("e", 0)}
	b.owner.Namespace = b.namespace
	if err := b.api.Create(t.Context(), b.owner); err != nil {
		t.Fatal(err)
	}
	b.writer = apply.New(b.api, names.FieldManager)
	return b
}

// testingT is the common interface of example and random tests.
type testingT interface {
	Helper()
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// render renders the next generation.
func (b *renderEnv) render(t testingT, class *v1alpha1.FireboltEngineClass, e *v1alpha1.FireboltEngine) render.Generation {
	t.Helper()
	e.Namespace = b.namespace
	resolved, err := resolve.Resolve(e, class, 0)
	if err != nil {
		t.Fatalf("resolve: %v", err)
	}
	g, err := render.Of(render.Input{
		Engine: resolved, Images: images, Generation: b.numbers, Instance: render.Instance{ID: "id", Endpoint: "m:7000"},
	})
	if err != nil {
		t.Fatalf("render: %v", err)
	}
	return g
}

// stored writes the StatefulSet and reads it back.
func (b *renderEnv) stored(t testingT, g render.Generation) *appsv1.StatefulSet {
	t.Helper()
	ctx := b.t.Context()
	if _, err := b.writer.Object(ctx, b.owner, g.StatefulSet.DeepCopy(), nil); err != nil {
		t.Fatalf("apply: %v", err)
	}
	live := &appsv1.StatefulSet{}
	if err := b.api.Get(ctx, client.ObjectKeyFromObject(g.StatefulSet), live); err != nil {
		t.Fatalf("read back: %v", err)
	}
	return live
}

// fieldByField returns the same StatefulSet after a reverted edit: its
// history no longer shows that it is unchanged.
func fieldByField(live *appsv1.StatefulSet) *appsv1.StatefulSet {
	out := live.DeepCopy()
	out.Generation += 2
	return out
}

func expectMatch(t testingT, want engine.Match, desired render.Generation, live *appsv1.StatefulSet, what string) {
	t.Helper()
	got, err := render.Compare(desired, live, true)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if got != want {
		t.Errorf("%s: match %v, want %v; what reads otherwise than it was rendered: %s", what, got, want, describeDrift(t, desired, live))
	}
}

// describeDrift lists the rendered values that a StatefulSet does not have, to explain a failure.
func describeDrift(t testingT, desired render.Generation, live *appsv1.StatefulSet) string {
	t.Helper()
	var want, have content
	if err := errors.Join(convert(desired.StatefulSet, &want), convert(live, &have)); err != nil {
		t.Fatalf("%v", err)
	}
	var out []string
	for _, l := range leafFieldsOf(t, desired.StatefulSet) {
		if w, h := l.in(want), l.in(have); !reflect.DeepEqual(w, h) {
			out = append(out, fmt.Sprintf("%v is %v, was %v", l, h, w))
		}
	}
	return strings.Join(out, "; ")
}

// Random templates go through the API server and back. Defaults, dropped fields, rounding and other
// notations are not drift; every change of a rendered field is.
func TestDefect1APIServerDefaultsAreNotDrift(t *testing.T) {
	t.Parallel()
	b, in := newRenderEnv(t), readTemplateValues(t)
	rapid.Check(t, func(rt *rapid.T) {
		b.numbers++
		class, e := in.layers(rt)
		g := b.render(rt, class, e)
		live := b.stored(rt, g)
		expectMatch(rt, engine.Same, g, live, "as written")
		expectMatch(rt, engine.Same, g, fieldByField(live), "field by field")

		second := b.render(rt, through(rt, class), through(rt, e))
		if second.Fingerprint != g.Fingerprint {
			rt.Errorf("fingerprint after a round trip through JSON: %s, was %s", second.Fingerprint, g.Fingerprint)
		}
		expectMatch(rt, engine.Same, second, fieldByField(through(rt, live)), "after a round trip through JSON")

		leafFields := leafFieldsOf(rt, g.StatefulSet)
		for range 6 { // edits_test.go covers all of them
			leaf := rapid.SampledFrom(leafFields).Draw(rt, "leaf")
			expectMatch(rt, engine.Differs, g, leaf.changed(rt, fieldByField(live)), "after a change of "+leaf.String())
		}
		list := rapid.SampledFrom(listsOf(leafFields)).Draw(rt, "list")
		expectMatch(rt, engine.Differs, g, list.longer(rt, fieldByField(live)), "with one entry more in "+list.String())
		key := rapid.SampledFrom([]leaf{
			{"spec", "template", "metadata", "labels", "more"},
			{"spec", "template", "metadata", "annotations", "more"},
			{"spec", "template", "spec", "nodeSelector", "more"},
		}).Draw(rt, "key")
		expectMatch(rt, engine.Differs, g, key.changed(rt, fieldByField(live)), "with "+key.String())
	})
}
