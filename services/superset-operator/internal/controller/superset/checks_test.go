package superset_test

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
)

// all combines several checks.
func all(checks ...func(*v1alpha1.Superset) error) func(*v1alpha1.Superset) error {
	return func(s *v1alpha1.Superset) error {
		for _, check := range checks {
			if err := check(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// condition returns a check of the status and the reason of a condition. The operator's own conditions must also have
// the latest observedGeneration; that of the others may be older while the latest spec is not applied.
func condition(kind string, status metav1.ConditionStatus, reason string) func(*v1alpha1.Superset) error {
	own := []string{v1alpha1.ConditionLifecycleComplete, v1alpha1.ConditionSuspended, v1alpha1.ConditionScheduleValid}
	return func(s *v1alpha1.Superset) error {
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		if c == nil || c.Status != status || c.Reason != reason || slices.Contains(own, kind) && c.ObservedGeneration != s.Generation {
			return fmt.Errorf("condition %s is not %s, %s at generation %d: %s", kind, status, reason, s.Generation, text(s))
		}
		return nil
	}
}

// message returns the message of a condition.
func message(s *v1alpha1.Superset, kind string) string {
	if c := meta.FindStatusCondition(s.Status.Conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// lifecyclePhase returns a check of the lifecycle phase.
func lifecyclePhase(want v1alpha1.LifecyclePhase) func(*v1alpha1.Superset) error {
	return func(s *v1alpha1.Superset) error {
		if s.Status.Lifecycle == nil || s.Status.Lifecycle.Phase != want {
			return fmt.Errorf("lifecycle phase is not %s: %s", want, text(s))
		}
		return nil
	}
}

// task returns a check of the state and the attempts of a task.
func task(kind string, state v1alpha1.TaskState, attempts int32) func(*v1alpha1.Superset) error {
	return func(s *v1alpha1.Superset) error {
		entry := entryOf(s, kind)
		if entry == nil || entry.State != state || entry.Attempts != attempts {
			return fmt.Errorf("task %s is not %s, attempt %d: %s", kind, state, attempts, text(s))
		}
		return nil
	}
}

func entryOf(s *v1alpha1.Superset, kind string) *v1alpha1.TaskRefStatus {
	if s.Status.Lifecycle == nil {
		return nil
	}
	return map[string]*v1alpha1.TaskRefStatus{
		"clone": s.Status.Lifecycle.Clone, "migrate": s.Status.Lifecycle.Migrate,
		"preflight": s.Status.Lifecycle.Preflight,
		"rotate":    s.Status.Lifecycle.Rotate, "init": s.Status.Lifecycle.Init,
	}[kind]
}

// components returns the components of a status, by their names in object names.
func components(s *v1alpha1.Superset) map[string]*v1alpha1.ComponentRefStatus {
	out := map[string]*v1alpha1.ComponentRefStatus{}
	if s.Status.Components == nil {
		return out
	}
	for slug, c := range map[string]*v1alpha1.ComponentRefStatus{
		"web-server": s.Status.Components.WebServer, "celery-worker": s.Status.Components.CeleryWorker,
		"celery-beat": s.Status.Components.CeleryBeat, "celery-flower": s.Status.Components.CeleryFlower,
		"websocket-server": s.Status.Components.WebsocketServer, "mcp-server": s.Status.Components.MCPServer,
	} {
		if c != nil {
			out[slug] = c
		}
	}
	return out
}
