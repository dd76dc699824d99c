package observation

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// Only the serving unit, and no starting or stopping one, decides
// whether the engine is available.
func TestRolesFollowServiceSelector(t *testing.T) {
	none := engine.None
	cases := map[string]struct {
		current, active, draining, route int64
		want                             []string
	}{
		"the first generation is meant to serve": {0, none, none, none, []string{"g0 serving unrouted"}},
		"the first generation serves":            {0, none, none, 0, []string{"g0 serving routed"}},
		"a settled engine":                       {2, 2, none, 2, []string{"g2 serving routed"}},
		"a lost Service":                         {2, 2, none, none, []string{"g2 serving unrouted"}},
		"a rollout before the switch":            {3, 2, none, 2, []string{"g2 serving routed", "g3 incoming unrouted"}},
		"the Service moved, the status did not":  {3, 2, none, 3, []string{"g3 serving routed", "g2 outgoing unrouted"}},
		"draining":                               {3, 3, 2, 3, []string{"g3 serving routed", "g2 outgoing unrouted"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := observe.Children{StatefulSets: map[int64]*appsv1.StatefulSet{}}
			for _, n := range []int64{tc.current, tc.active, tc.draining} {
				c.StatefulSets[n] = &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(2))}}
			}
			if tc.route != none {
				c.Cluster = &corev1.Service{Spec: corev1.ServiceSpec{Selector: names.GenerationLabels("e", tc.route)}}
			}
			var got []string
			for _, u := range units(c, engine.State{Current: tc.current, Active: tc.active, Draining: tc.draining}, 2, time.Time{}) {
				routed := "unrouted"
				if u.Routed {
					routed = "routed"
				}
				got = append(got, u.Name+" "+string(u.Role)+" "+routed)
				if u.Desired != 2 {
					t.Errorf("%s: desired = %d", u.Name, u.Desired)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("units (-want +got):\n%s", diff)
			}
		})
	}
}

// An engine that starts from zero routes traffic to a generation without pods. It serves no requests.
func TestEngineWithoutPodsIsUnavailable(t *testing.T) {
	set := func(replicas int32) *appsv1.StatefulSet {
		return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(replicas)}}
	}
	starting := engine.State{Current: 3, Active: 2, Draining: engine.None}
	cases := map[string]struct {
		serving, incoming, desired int32
		want                       []int32 // desired
	}{
		"started again":     {0, 2, 2, []int32{2, 2}},
		"stopped":           {0, 0, 0, []int32{0, 0}},
		"about to stop":     {2, 0, 0, []int32{2, 0}},
		"its size is other": {2, 5, 5, []int32{2, 5}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := observe.Children{
				StatefulSets: map[int64]*appsv1.StatefulSet{2: set(tc.serving), 3: set(tc.incoming)},
				Cluster:      &corev1.Service{Spec: corev1.ServiceSpec{Selector: names.GenerationLabels("e", 2)}},
			}
			var got []int32
			for _, u := range units(c, starting, tc.desired, time.Time{}) {
				got = append(got, u.Desired)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("desired (-want +got):\n%s", diff)
			}
		})
	}
}

func stable() status.Engine {
	return status.Engine{
		Object: &v1alpha1.FireboltEngine{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: 4},
			Spec:       v1alpha1.FireboltEngineSpec{InstanceRef: "shop", Replicas: 2},
			Status:     v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable},
		},
		Plan:            engine.Plan{Next: engine.State{Phase: v1alpha1.PhaseStable, Draining: engine.None}},
		InstanceChecked: true, Decided: true, PodsReady: 2, PodsTotal: 2, Replicas: 2,
	}
}

func TestFailedReconcileIsReported(t *testing.T) {
	o := ForEngine(stable(), observe.Children{}, false, errors.New("apply x: refused"), time.Time{})
	want := contract.Reconcile{Outcome: contract.Failed, Reason: "ReconcileError", Message: "apply x: refused"}
	if diff := cmp.Diff(want, o.Reconcile); diff != "" {
		t.Errorf("reconcile (-want +got):\n%s", diff)
	}
}

// A failing probe causes no watch event: the time of the reconcile decides.
func TestFailedProbeIsReportedInTime(t *testing.T) {
	started := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	unready := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
	pod := corev1.Pod{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "engine", ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, FailureThreshold: 3, TimeoutSeconds: 1},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: unready, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "engine", Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(started)}},
		}}},
	}
	c := observe.Children{
		StatefulSets: map[int64]*appsv1.StatefulSet{0: {Spec: appsv1.StatefulSetSpec{Replicas: new(int32(1))}}},
		Pods:         map[int64][]corev1.Pod{0: {pod}},
	}
	failing := func(now time.Time) bool {
		u := units(c, engine.State{Current: 0, Active: engine.None, Draining: engine.None}, 1, now)[0]
		return len(u.Failures) == 1 && u.Failures[0].Class == contract.FailureProbeFailing
	}
	if failing(started.Add(time.Second)) {
		t.Error("a container that has just started is reported with a failing probe")
	}
	if !failing(started.Add(time.Minute)) {
		t.Error("a probe that has failed for long enough is not reported")
	}
}
