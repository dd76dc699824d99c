package repair

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// cause is the database error with which the migration of the broken release fails.
const cause = `relation "table_that_is_not_there" does not exist`

var events = schema.GroupVersionKind{Group: "events.k8s.io", Version: "v1", Kind: "Event"}

// failedFor returns an error unless the status of a Superset describes the failed migration with its cause.
func failedFor(o *unstructured.Unstructured) error {
	if err := checkMessages(o, "False TaskFailed", "True JobFailed", "migrate failed"); err != nil {
		return err
	}
	migrate := []string{"status", "lifecycle", "migrate"}
	got, attempts := message(o, "LifecycleComplete"), platform.Number(o, append(migrate, "attempts")...)
	switch {
	case platform.Number(o, append(migrate, "exitCode")...) != 1:
		return fmt.Errorf("exitCode is %d", platform.Number(o, append(migrate, "exitCode")...))
	case !strings.Contains(got, "exit code 1") || !strings.Contains(got, cause):
		return fmt.Errorf("LifecycleComplete lacks the cause: %s", got)
	case !strings.Contains(platform.Text(o, append(migrate, "logTail")...), cause):
		return fmt.Errorf("logTail lacks the cause: %s", platform.Text(o, append(migrate, "logTail")...))
	case attempts != 2:
		return fmt.Errorf("attempts is %d", attempts)
	}
	return nil
}

// checkMessages returns an error unless LifecycleComplete, for the latest generation, and Degraded have this status and reason.
// Degraded is of the last applied generation, which is older than the latest one until its task succeeds. If the failure is
// flapping, Degraded has the reason Flapping, and its message must name the failure.
func checkMessages(o *unstructured.Unstructured, lifecycle, degraded, cause string) error {
	status, reason := platform.Condition(o, "LifecycleComplete")
	if got := status + " " + reason; got != lifecycle {
		return fmt.Errorf("LifecycleComplete is %s, want %s", got, lifecycle)
	}
	is := entry(o, "Degraded")
	got := fmt.Sprintf("%v %v", is["status"], is["reason"])
	if got == degraded || got == "True Flapping" && strings.Contains(message(o, "Degraded"), cause) {
		return nil
	}
	return fmt.Errorf("condition Degraded is %s (%v), want %s", got, is["message"], degraded)
}

// message returns the message of a condition.
func message(o *unstructured.Unstructured, conditionType string) string {
	return fmt.Sprint(entry(o, conditionType)["message"])
}

// entry returns a condition of any generation.
func entry(o *unstructured.Unstructured, conditionType string) map[string]any {
	conditions, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return map[string]any{"message": err.Error()}
	}
	for _, one := range conditions {
		if c, ok := one.(map[string]any); ok && c["type"] == conditionType {
			return c
		}
	}
	return nil
}

// verifyEvents waits for the Warning events of the first attempt and of the permanent failure, each with the cause.
func (t *scenario) verifyEvents(ctx context.Context, s *run.Step) error {
	return s.Until(ctx, "events name the cause of the failed migration", func(ctx context.Context) error {
		list, err := t.List(ctx, events, namespace)
		if err != nil {
			return err
		}
		missing := map[string]bool{"TaskRetry": true, "TaskFailed": true}
		for i := range list {
			if strings.Contains(platform.Text(&list[i], "note"), cause) {
				delete(missing, platform.Text(&list[i], "reason"))
			}
		}
		if len(missing) > 0 {
			return fmt.Errorf("no event names the cause, by reason: %v", missing)
		}
		return nil
	})
}
