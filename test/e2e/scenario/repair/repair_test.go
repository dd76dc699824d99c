package repair

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/scenario/platform"
)

// failedStatus is a status with the cause of the failure.
const failedStatus = `
apiVersion: superset.apache.org/v1alpha1
kind: Superset
status:
  lifecycle:
    migrate: {attempts: 2, exitCode: 1, logTail: 'relation "table_that_is_not_there" does not exist'}
  conditions:
    - {type: LifecycleComplete, status: "False", reason: TaskFailed, message: 'ended with exit code 1: relation "table_that_is_not_there" does not exist'}
    - {type: Degraded, status: "True", reason: JobFailed, message: x}
`

// failedSuperset returns a Superset with an edited failedStatus.
func failedSuperset(t *testing.T, edit func(status map[string]any)) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(failedStatus))
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
	edit(status)
	return o
}

func setStatus(t *testing.T, value any, path ...string) func(map[string]any) {
	t.Helper()
	return func(status map[string]any) {
		if err := unstructured.SetNestedField(status, value, path...); err != nil {
			t.Fatal(err)
		}
	}
}

// setCondition sets fields, given as names and values, of a condition.
func setCondition(t *testing.T, index int, fields ...string) func(map[string]any) {
	t.Helper()
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

// failedFor must reject a status that lacks the cause of the failure.
func TestFailureRequiresCause(t *testing.T) {
	for name, good := range map[string]func(map[string]any){
		"complete": func(map[string]any) {},
		"flapping": setCondition(t, 1, "reason", "Flapping", "message", "Flapping: Task migrate failed after the last retry."),
	} {
		if err := failedFor(failedSuperset(t, good)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(map[string]any){
		"another exit code":               setStatus(t, int64(2), "lifecycle", "migrate", "exitCode"),
		"one attempt":                     setStatus(t, int64(1), "lifecycle", "migrate", "attempts"),
		"no log lines":                    setStatus(t, "", "lifecycle", "migrate", "logTail"),
		"a retry":                         setCondition(t, 0, "reason", "TaskRetrying"),
		"the message of the Job":          setCondition(t, 0, "message", "BackoffLimitExceeded"),
		"a message without the exit code": setCondition(t, 0, "message", `relation "table_that_is_not_there" does not exist`),
		"another failure":                 setCondition(t, 1, "reason", "Flapping", "message", "Flapping: a pod is not ready."),
		"no conditions":                   func(status map[string]any) { delete(status, "conditions") },
	} {
		if failedFor(failedSuperset(t, change)) == nil {
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
	if err := s.Evaluate(&run.Step{}, phases); err == nil || strings.Contains(err.Error(), "no rule") {
		t.Errorf("a phase has no rule: %v", err)
	}
}
