package repair

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// failedFor must reject a status that lacks the cause of the failure.
func TestFailureRequiresCause(t *testing.T) {
	const complete = `
apiVersion: superset.apache.org/v1alpha1
kind: Superset
status:
  lifecycle:
    migrate: {attempts: 2, exitCode: 1, logTail: 'relation "table_that_is_not_there" does not exist'}
  conditions:
    - {type: LifecycleComplete, status: "False", reason: TaskFailed, message: 'ended with exit code 1: relation "table_that_is_not_there" does not exist'}
    - {type: Degraded, status: "True", reason: JobFailed, message: x}
`
	read := func(change func(status map[string]any)) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		raw, err := yaml.YAMLToJSON([]byte(complete))
		if err == nil {
			err = o.UnmarshalJSON(raw) // numbers as the API server's
		}
		if err != nil {
			t.Fatal(err)
		}
		status, ok := o.Object["status"].(map[string]any)
		if !ok {
			t.Fatal("no status")
		}
		change(status)
		return o
	}
	set := func(value any, path ...string) func(map[string]any) {
		return func(status map[string]any) {
			if err := unstructured.SetNestedField(status, value, path...); err != nil {
				t.Fatal(err)
			}
		}
	}
	change := func(index int, fields ...string) func(map[string]any) {
		return func(status map[string]any) {
			list, ok := status["conditions"].([]any)
			if !ok {
				t.Fatal("no conditions")
			}
			c, ok := list[index].(map[string]any)
			if !ok {
				t.Fatal("no condition")
			}
			for i := 0; i < len(fields); i += 2 {
				c[fields[i]] = fields[i+1]
			}
		}
	}
	first := func(field, value string) func(map[string]any) { return change(0, field, value) }
	for name, good := range map[string]func(map[string]any){
		"complete": func(map[string]any) {},
		"flapping": change(1, "reason", "Flapping", "message", "Flapping: Task migrate failed after the last retry."),
	} {
		if err := failedFor(read(good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(map[string]any){
		"another exit code":               set(int64(2), "lifecycle", "migrate", "exitCode"),
		"one attempt":                     set(int64(1), "lifecycle", "migrate", "attempts"),
		"no log lines":                    set("", "lifecycle", "migrate", "logTail"),
		"a retry":                         first("reason", "TaskRetrying"),
		"the message of the Job":          first("message", "BackoffLimitExceeded"),
		"a message without the exit code": first("message", `relation "table_that_is_not_there" does not exist`),
		"another failure":                 change(1, "reason", "Flapping", "message", "Flapping: a pod is not ready."),
		"no conditions":                   func(status map[string]any) { delete(status, "conditions") },
	} {
		if failedFor(read(change)) == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// EvaluateWeb must have a rule for each phase.
func TestPhasesHaveRules(t *testing.T) {
	s := Upgrades(&platform.Platform{})
	var phases []load.Figures
	for _, phase := range s.Phases {
		phases = append(phases, load.Figures{Phase: phase.Name})
	}
	if err := s.Evaluate(phases); err == nil || strings.Contains(err.Error(), "no rule") {
		t.Errorf("a phase has no rule: %v", err)
	}
}
