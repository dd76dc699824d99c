package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
)

// No event reports a deleted Secret: the instance reports it within ten seconds after an engine needs it, and
// no engine starts a rollout meanwhile, also one that checks only once.
func TestDeletedCredentialsBlockRollouts(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.remove(credentials())
	deleted := time.Now()
	sets := s.record(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	s.edit(e, func(e *v1alpha1.FireboltEngine) { e.Spec.Template = template("example.com/engine:2.0") })
	newEngine := engineOf("late", 1)
	s.create(newEngine)
	for _, e := range []*v1alpha1.FireboltEngine{e, newEngine} {
		c := expect.Condition(t, s.api, e, v1alpha1.ConditionInstanceReady, metav1.ConditionFalse)
		if !strings.Contains(c.Message, "db") && !strings.Contains(c.Message, "endpoint") {
			t.Errorf("engine %s: %s", e.Name, c.Message)
		}
	}
	i := instance("shop")
	i.Namespace = s.namespace
	c := expect.Condition(t, s.api, i, v1alpha1.ConditionMetadataReady, metav1.ConditionFalse)
	if c.Reason != v1alpha1.ReasonPostgresSecretPreflightFailed {
		t.Errorf("MetadataReady: %s: %s", c.Reason, c.Message)
	}
	if elapsed := c.LastTransitionTime.Sub(deleted); elapsed > 10*time.Second {
		t.Errorf("the instance reported it after %s, want at most 10 s", elapsed)
	}
	// A failure that only a user can fix degrades at once, for the current generation.
	expect.Object(t, s.api, i, func(i *v1alpha1.FireboltInstance) error {
		for kind, want := range map[string]metav1.ConditionStatus{"Progressing": metav1.ConditionFalse, "Degraded": metav1.ConditionTrue} {
			c := meta.FindStatusCondition(i.Status.Conditions, kind)
			if c == nil || c.Status != want || c.Reason != v1alpha1.ReasonPostgresSecretPreflightFailed || c.ObservedGeneration != i.Generation {
				return fmt.Errorf("%s = %+v", kind, c)
			}
		}
		return nil
	})
	if got := sets.problems(func(m snapshot) string {
		for _, set := range of[appsv1.StatefulSet](m, "StatefulSet") {
			if set.Name == "a-g1" || set.Name == "late-g0" {
				return fmt.Sprintf("StatefulSet %s was made", set.Name)
			}
		}
		return ""
	}); len(got) > 0 {
		t.Error(got)
	}
	s.create(credentials())
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	s.waitForRollout(newEngine, v1alpha1.PhaseStable, 0)
}

// The credentials are read again before the switch, also if they were deleted right after the rollout began.
func TestDeletedCredentialsBlockSwitch(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	e := engineOf("a", 1)
	s.create(e)
	s.waitForRollout(e, v1alpha1.PhaseStable, 0)
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Spec.Template = template("example.com/engine:2.0")
		e.Spec.Template.Annotations = map[string]string{"simulate.flotilla.dev/fail": "CrashLoopBackOff"}
	})
	appears(s, &corev1.Pod{}, "a-g1-0")
	s.remove(credentials())
	s.fail("a-g1-0", "")
	expect.Condition(t, s.api, e, v1alpha1.ConditionInstanceReady, metav1.ConditionFalse)
	s.keepsRoute("0")
	s.create(credentials())
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
}
