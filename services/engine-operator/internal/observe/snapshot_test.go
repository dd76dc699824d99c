package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/resolve"
)

// renderAll renders generations with the given replicas.
func renderAll(t *testing.T, replicas map[int64]int32) map[int64]render.Generation {
	t.Helper()
	out := map[int64]render.Generation{}
	for n, r := range replicas {
		g, err := render.Of(render.Input{Engine: resolve.Engine{Name: "e", Namespace: "n", Replicas: r}, Generation: n})
		if err != nil {
			t.Fatal(err)
		}
		out[n] = g
	}
	return out
}

// children returns rendered generations with the given replicas.
func children(t *testing.T, replicas map[int64]int32) Children {
	t.Helper()
	c := Children{engine: "e", StatefulSets: map[int64]*appsv1.StatefulSet{}}
	for n, g := range renderAll(t, replicas) {
		c.StatefulSets[n] = g.StatefulSet
	}
	return c
}

func TestSnapshotComparesRenderedGenerations(t *testing.T) {
	// Generation 2 serves with one pod, 3 is being built with two, 1 is left over.
	c := children(t, map[int64]int32{1: 1, 2: 1, 3: 2})
	cases := map[string]struct {
		rendered map[int64]int32
		want     map[int64]engine.Match
	}{
		"the spec of the new one":        {map[int64]int32{3: 2, 2: 2}, map[int64]engine.Match{1: engine.Unknown, 2: engine.Differs, 3: engine.Same}},
		"the spec of the serving one":    {map[int64]int32{3: 1, 2: 1}, map[int64]engine.Match{1: engine.Unknown, 2: engine.Same, 3: engine.Differs}},
		"one that does not exist":        {map[int64]int32{4: 1}, map[int64]engine.Match{1: engine.Unknown, 2: engine.Unknown, 3: engine.Unknown}},
		"nothing that could be rendered": {nil, map[int64]engine.Match{1: engine.Unknown, 2: engine.Unknown, 3: engine.Unknown}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := c.Snapshot(renderAll(t, tc.rendered))
			if err != nil {
				t.Fatal(err)
			}
			got := map[int64]engine.Match{}
			for n, g := range s.Generations {
				got[n] = g.Match
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("matches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSnapshotDistinguishesEditsFromChangedSpec(t *testing.T) {
	c := children(t, map[int64]int32{1: 1})
	c.StatefulSets[1].Spec.Template.Spec.HostNetwork = true
	c.StatefulSets[1].Generation = 2
	for replicas, edited := range map[int32]bool{1: true, 2: false} {
		s, err := c.Snapshot(renderAll(t, map[int64]int32{1: replicas}))
		if err != nil {
			t.Fatal(err)
		}
		if g := s.Generations[1]; g.Match != engine.Differs || g.Edited() != edited {
			t.Errorf("%d replicas: %+v, want edited=%t", replicas, g, edited)
		}
	}
}

func TestReduceFindsTerminatingAndHeld(t *testing.T) {
	now := metav1.Now()
	c := children(t, map[int64]int32{1: 1, 2: 1, 3: 2})
	c.StatefulSets[1].DeletionTimestamp, c.StatefulSets[1].Finalizers = &now, []string{metav1.FinalizerDeleteDependents}
	c.StatefulSets[2].DeletionTimestamp, c.StatefulSets[2].Finalizers = &now, []string{"example.com/backup"}
	c.Headless = map[int64]*corev1.Service{3: render.Headless("n", "e", 3)}
	s, err := c.Snapshot(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int64]engine.Generation{
		1: {StatefulSet: engine.Terminating, Replicas: 1},
		2: {StatefulSet: engine.Terminating, Replicas: 1, Held: true},
		3: {StatefulSet: engine.Present, Headless: engine.Present, Replicas: 2},
	}
	if diff := cmp.Diff(want, s.Generations); diff != "" {
		t.Errorf("generations (-want +got):\n%s", diff)
	}
}

func TestRouteFollowsServiceSelector(t *testing.T) {
	now := metav1.Now()
	terminating := render.Cluster("n", "e", 4)
	terminating.DeletionTimestamp = &now
	foreign := render.Cluster("n", "e", 4)
	foreign.Spec.Selector[names.LabelGeneration] = "x"
	for name, tc := range map[string]struct {
		service *corev1.Service
		want    int64
	}{
		"no Service": {nil, engine.None}, "a generation": {render.Cluster("n", "e", 4), 4},
		"a Service that is terminating": {terminating, 4}, "no number": {foreign, engine.None},
	} {
		if got := (Children{Cluster: tc.service}).Route(); got != tc.want {
			t.Errorf("%s: route %d, want %d", name, got, tc.want)
		}
	}
}

func TestServiceFinalizersOfDeletedService(t *testing.T) {
	now := metav1.Now()
	service := func(deleted *metav1.Time, finalizers ...string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: deleted, Finalizers: finalizers}}
	}
	for name, tc := range map[string]struct {
		service *corev1.Service
		want    []string
	}{
		"no Service":                          {nil, nil},
		"a finalizer of one that stays":       {service(nil, "example.com/hold"), nil},
		"a deletion by the garbage collector": {service(&now, metav1.FinalizerDeleteDependents), []string{}},
		"a foreign finalizer":                 {service(&now, metav1.FinalizerDeleteDependents, "example.com/hold"), []string{"example.com/hold"}},
	} {
		if diff := cmp.Diff(tc.want, (Children{Cluster: tc.service}).ServiceFinalizers()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A terminating or finished pod must not delay its replacement (defect 10 of earlier operators).
func TestDefect10CountSkipsTerminatingAndFinishedPods(t *testing.T) {
	now := metav1.Now()
	ready := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	pods := []corev1.Pod{
		{Status: ready},
		{Status: corev1.PodStatus{Phase: corev1.PodRunning}},
		{Status: corev1.PodStatus{Phase: corev1.PodPending}},
		{Status: ready, ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}},
		{Status: corev1.PodStatus{Phase: corev1.PodFailed}},
		{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}},
	}
	if total, readyPods := Count(pods); total != 3 || readyPods != 1 {
		t.Errorf("Count = %d, %d; want 3, 1", total, readyPods)
	}
}

func TestStuckPodsOutliveTheirGracePeriod(t *testing.T) {
	now := time.Now()
	pod := func(name string, end *metav1.Time) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, DeletionTimestamp: end}}
	}
	recent, old := metav1.NewTime(now.Add(-time.Minute)), metav1.NewTime(now.Add(-time.Minute-time.Second))
	c := Children{current: 2, Pods: map[int64][]corev1.Pod{
		0: {pod("g0-1", &old), pod("g0-0", &old)}, 1: {pod("g1-0", &recent), pod("g1-1", nil)}, 2: {pod("g2-0", &old)},
	}}
	var got []string
	for _, p := range c.Stuck(now) {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"g0-0", "g0-1"}, got); diff != "" {
		t.Errorf("stuck (-want +got):\n%s", diff)
	}
}
