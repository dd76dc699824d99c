package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/kube/apply"
	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/engine"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/observe"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// stubClient has one engine and its children, and returns the same error for each patch. It accepts other writes.
type stubClient struct {
	stubCache
	sets    []appsv1.StatefulSet
	pods    []corev1.Pod
	service *corev1.Service
	patch   error
	deleted []string
}

func (s *stubClient) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if service, ok := into.(*corev1.Service); ok && s.service != nil && key.Name == s.service.Name {
		s.service.DeepCopyInto(service)
		return nil
	}
	return s.stubCache.Get(ctx, key, into, options...)
}

func (s *stubClient) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	switch list := into.(type) {
	case *appsv1.StatefulSetList:
		list.Items = s.sets
	case *corev1.PodList:
		list.Items = s.pods
	}
	return nil
}

func (s *stubClient) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return s.patch
}

func (s *stubClient) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	s.deleted = append(s.deleted, o.GetName())
	return nil
}

func (*stubClient) GroupVersionKindFor(runtime.Object) (schema.GroupVersionKind, error) {
	return v1alpha1.GroupVersion.WithKind("FireboltEngine"), nil
}

func (*stubClient) Status() client.SubResourceWriter { return stubStatus{} }

type stubStatus struct{ client.SubResourceWriter }

func (stubStatus) Apply(context.Context, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
	return nil
}

func terminating(e *v1alpha1.FireboltEngine) *v1alpha1.FireboltEngine {
	e.DeletionTimestamp = new(metav1.Now())
	return e
}

func controlledBy(o client.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: new(true)}}
}

// The decision of a conflicting write is made again at once, without an error.
func TestConflictOfFinalizerIsStaleCache(t *testing.T) {
	created := engineWithUID("a")
	created.Finalizers = nil
	for name, e := range map[string]*v1alpha1.FireboltEngine{"add": created, "remove": terminating(engineWithUID("a"))} {
		t.Run(name, func(t *testing.T) {
			c := &stubClient{patch: apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("fireboltengines").GroupResource(), "a", errors.New("modified"))}
			c.engine = e
			r := New(Config{Client: c, APIReader: c, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))})
			result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "n", Name: "a"}})
			if err != nil || result.RequeueAfter != steps.RequeueStale {
				t.Errorf("result = %+v, %v", result, err)
			}
		})
	}
}

// The deletion does not check the instance, and its pods serve until they terminate.
func TestHeldChildrenOfDeletedEngineKeepStatus(t *testing.T) {
	e := terminating(engineWithUID("a"))
	e.ResourceVersion = "1"
	e.Status = v1alpha1.FireboltEngineStatus{Phase: v1alpha1.PhaseStable, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionInstanceReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonInstanceNotReady, Message: "It has no id."},
	}}
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Name: names.Generation("a", 0), UID: "set", OwnerReferences: controlledBy(e, "FireboltEngine"), Finalizers: []string{"example.com/hold"},
	}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: set.Name + "-0", OwnerReferences: controlledBy(&set, "StatefulSet")}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
	c := &stubClient{sets: []appsv1.StatefulSet{set}, pods: []corev1.Pod{pod}}
	r := New(Config{
		Client: c, APIReader: c, Reporter: &deletions{}, Recorder: events.NewFakeRecorder(10), Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
	})
	s := &reconcileState{engine: e}
	s.start()
	if _, err := r.reconcileDelete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Reason != v1alpha1.ReasonExternalFinalizer {
		t.Errorf("Ready = %+v", c)
	}
	if c := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionInstanceReady); c == nil || c.Message != "It has no id." {
		t.Errorf("InstanceReady = %+v", c)
	}
	if e.Status.ReadyReplicas != 1 {
		t.Errorf("%d replicas are ready, want 1", e.Status.ReadyReplicas)
	}
}

// The cause of missing pods remains while another write fails.
func TestTransientFailureKeepsWarning(t *testing.T) {
	known := status.Warning{Reason: "FailedCreate", Message: "quota"}
	for name, tc := range map[string]struct {
		failure error
		want    string
	}{
		"transient": {errors.New("unavailable"), known.Reason},
		"refused":   {apierrors.NewForbidden(corev1.Resource("services"), "a", errors.New("policy")), v1alpha1.ReasonApplyRefused},
	} {
		s := &reconcileState{engine: engineWithUID("a"), warning: known}
		s.fail(tc.failure)
		if s.warning.Reason != tc.want {
			t.Errorf("%s: warning = %+v, want reason %s", name, s.warning, tc.want)
		}
	}
}

// A generation that the cluster Service selects is not deleted. Only if the Service is the engine's own, the cache is stale.
func TestDeletionConfirmsRoute(t *testing.T) {
	e := engineWithUID("a")
	e.Status = v1alpha1.FireboltEngineStatus{
		Phase: v1alpha1.PhaseCreating, CurrentGeneration: 2, ActiveGeneration: engine.None, LastAllocatedGeneration: new(int64(2)),
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionInstanceReady, Status: metav1.ConditionTrue}},
	}
	service := func(selects int64, owners ...metav1.OwnerReference) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: names.Cluster("a"), OwnerReferences: owners},
			Spec:       corev1.ServiceSpec{Selector: names.GenerationLabels("a", selects)},
		}
	}
	both := []string{names.Generation("a", 0), names.Generation("a", 1)}
	for name, tc := range map[string]struct {
		service *corev1.Service
		deleted []string
		failure error
		reason  string
	}{
		"no Service":                           {nil, both, nil, v1alpha1.ReasonRolling},
		"own Service elsewhere":                {service(2, controlledBy(e, "FireboltEngine")...), both, nil, v1alpha1.ReasonRolling},
		"own Service":                          {service(0, controlledBy(e, "FireboltEngine")...), nil, errStale, ""},
		"foreign Service elsewhere":            {service(2), both, nil, v1alpha1.ReasonRolling},
		"foreign Service":                      {service(0), both[1:], apply.ErrNotOwned, v1alpha1.ReasonApplyRefused},
		"Service of a former engine":           {service(0, controlledBy(engineWithUID("b"), "FireboltEngine")...), both[1:], apply.ErrNotOwned, v1alpha1.ReasonApplyRefused},
		"foreign Service, the last generation": {service(1), both[:1], apply.ErrNotOwned, v1alpha1.ReasonApplyRefused},
	} {
		t.Run(name, func(t *testing.T) {
			c := &stubClient{service: tc.service}
			r := New(Config{Client: c, APIReader: c, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))})
			s := &reconcileState{engine: e.DeepCopy(), decided: true, children: observe.Children{StatefulSets: map[int64]*appsv1.StatefulSet{
				0: {ObjectMeta: metav1.ObjectMeta{Name: both[0]}}, 1: {ObjectMeta: metav1.ObjectMeta{Name: both[1]}},
			}}}
			s.start()
			s.plan.Delete, s.plan.Next.Allocated = []int64{0, 1}, 3
			_, err := r.write(t.Context(), s)
			if !errors.Is(err, tc.failure) {
				t.Errorf("error %v, want %v", err, tc.failure)
			}
			if diff := cmp.Diff(tc.deleted, c.deleted); diff != "" {
				t.Errorf("deleted objects (-want +got):\n%s", diff)
			}
			if isStale(err) {
				return
			}
			if err != nil {
				s.fail(err)
			}
			got := s.outcome().Next(time.Unix(0, 0))
			if ready := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != tc.reason {
				t.Errorf("Ready = %+v, want reason %s", ready, tc.reason)
			}
			if *got.LastAllocatedGeneration != 3 {
				t.Errorf("generation %d is recorded, want 3", *got.LastAllocatedGeneration)
			}
		})
	}
}
