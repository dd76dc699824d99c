package superset_test

import (
	"fmt"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/names"
)

// TestForeignStatusWriteIsReverted checks that the operator reverts a status field that a user patched, and
// continues.
func TestForeignStatusWriteIsReverted(t *testing.T) {
	e := start(t, options{})
	sup := e.create(e.sample("development.yaml"))
	e.waitFor(sup, phase(v1alpha1.PhaseRunning))
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Blocked","ready":"9/9"}}`))
	if err := e.client.Status().Patch(t.Context(), sup.DeepCopy(), patch, client.FieldOwner("kubectl-patch")); err != nil {
		t.Fatal(err)
	}
	e.waitFor(sup, func(s *v1alpha1.Superset) error {
		if s.Status.Phase != v1alpha1.PhaseRunning || s.Status.Ready == "9/9" {
			return fmt.Errorf("phase %s, ready %s", s.Status.Phase, s.Status.Ready)
		}
		return nil
	})
}

// TestForeignObjectsStayUnchanged checks that objects of a user stay unchanged, whatever their names and labels are.
func TestForeignObjectsStayUnchanged(t *testing.T) {
	e := start(t, options{})
	sup := e.sample("development.yaml")
	sup.Namespace = e.namespace
	name := names.Component(sup.Name, "web-server")
	meta := metav1.ObjectMeta{Namespace: e.namespace, Name: name, Labels: names.Labels(sup.Name, "web-server")}
	others := []client.Object{
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}, MaxReplicas: 3,
		}},
		&policyv1.PodDisruptionBudget{ObjectMeta: meta},
	}
	created := e.create(sup)
	for _, obj := range others {
		if err := e.client.Create(t.Context(), obj); err != nil {
			t.Fatal(err)
		}
	}
	e.waitFor(created, phase(v1alpha1.PhaseRunning))
	for _, obj := range others {
		if err := e.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj); err != nil || obj.GetDeletionTimestamp() != nil {
			t.Errorf("%T: %v", obj, err)
		}
	}
}
