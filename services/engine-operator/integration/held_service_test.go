package integration

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// A deleted cluster Service that a foreign finalizer holds keeps its traffic, follows a rollout, and is reported with the
// remedy. After its deletion there is a new one.
func TestHeldServiceFollowsRollout(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	service := appears(s, &corev1.Service{}, "a-service")
	s.hold(service)
	s.remove(service)

	const remedy = "finalizers hold it: example.com/hold. Remove the finalizers; the operator then creates the Service again."
	c := waitReason(t, s, e, v1alpha1.ReasonExternalFinalizer)
	if err := checkMessages([]metav1.Condition{c}, remedy, v1alpha1.ConditionReady); err != nil {
		t.Error(err)
	}
	expect.Condition(t, s.api, e, "Available", metav1.ConditionTrue)

	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("engine:2") })
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	held := service.GetUID()
	s.serviceSelects("1", func(uid types.UID) bool { return uid == held })
	s.release(service)
	s.serviceSelects("1", func(uid types.UID) bool { return uid != held })
	expect.Condition(t, s.api, e, v1alpha1.ConditionReady, metav1.ConditionTrue)
}

// hold adds a foreign finalizer.
func (s *testEnv) hold(o client.Object) {
	s.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))
	if err := s.api.Patch(s.t.Context(), o, patch); err != nil {
		s.t.Fatal(err)
	}
}

// serviceSelects waits until the cluster Service of engine a, with a matching uid, selects a generation.
func (s *testEnv) serviceSelects(generation string, matches func(types.UID) bool) {
	s.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a-service"}}
	expect.Object(s.t, s.api, service, func(service *corev1.Service) error {
		if !matches(service.UID) || service.Spec.Selector["firebolt.io/generation"] != generation {
			return fmt.Errorf("the Service has uid %s and selects %v", service.UID, service.Spec.Selector)
		}
		return nil
	})
}
