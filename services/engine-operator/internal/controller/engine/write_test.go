package engine

import (
	"context"
	"errors"
	"testing"
	"time"

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

	"github.com/flotilla-dev/flotilla/libs/kube/steps"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/status"
)

// stubClient has one engine and its children, and returns the same error for each patch. It accepts other writes.
type stubClient struct {
	stubCache
	sets  []appsv1.StatefulSet
	pods  []corev1.Pod
	patch error
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

func (*stubClient) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }

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
	owner := func(o client.Object, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: new(true)}}
	}
	set := appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Name: names.Generation("a", 0), UID: "set", OwnerReferences: owner(e, "FireboltEngine"), Finalizers: []string{"example.com/hold"},
	}}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: set.Name + "-0", OwnerReferences: owner(&set, "StatefulSet")}, Status: corev1.PodStatus{
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
