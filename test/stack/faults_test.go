package stack_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

// apply applies an object with server-side apply.
func (s *suite) apply(t *testing.T, kind schema.GroupVersionKind, name string, spec map[string]any) {
	t.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	obj.SetGroupVersionKind(kind)
	obj.SetName(name)
	obj.SetNamespace("default")
	err := s.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("whole-stack-test"), client.ForceOwnership)
	if err != nil {
		t.Fatalf("apply %s %s: %v", kind.Kind, name, err)
	}
}

// superset returns the spec of a small instance like the sample.
func superset(tag string) map[string]any {
	return map[string]any{
		"environment": "Development",
		"image":       map[string]any{"tag": tag},
		"secretKey":   "only-for-this-test",
		"metastore":   map[string]any{"uri": "sqlite:////tmp/superset.db"},
		"webServer":   map[string]any{"replicas": int64(1)},
	}
}

func (s *suite) stack(t *testing.T, args ...string) {
	t.Helper()
	if err := s.Stack(t.Context(), args...); err != nil {
		t.Fatal(err)
	}
}

// history waits until the lifecycle stream satisfies check.
func (s *suite) history(t *testing.T, check func(h historyReader) error) {
	t.Helper()
	expect.Eventually(t, timeout, func() error {
		h, err := s.Lifecycle(t.Context())
		if err != nil {
			return err
		}
		return check(h)
	})
}

type historyReader interface {
	Of(kind, name string) []contract.Lifecycle
	Phases(kind, name string) []string
	Wrong(kind, name string) []string
	Check() error
}

// endsWith waits until the phase events of an object end with the given phases.
func (s *suite) endsWith(t *testing.T, kind, name string, want ...string) {
	t.Helper()
	s.history(t, func(h historyReader) error {
		phases := h.Phases(kind, name)
		if len(phases) < len(want) || !slices.Equal(phases[len(phases)-len(want):], want) {
			return fmt.Errorf("%s %s has phases %v, want them to end with %v", kind, name, phases, want)
		}
		return h.Check()
	})
}

// changeIsPropagated creates a Superset and an instance, and rolls out an engine. It expects the events of the Superset and
// the engine on the bus, and those of the Superset from the subscriber in docs/examples. The events show that the aggregator
// writes the conditions: those of the samples may be the operators'.
func (s *suite) changeIsPropagated(t *testing.T) {
	t.Helper()
	printed := s.subscribe(t)
	s.apply(t, supersets, "seen", superset("4.1.1"))
	s.wait(t, supersets, "seen", isHealthy)
	s.endsWith(t, "Superset", "seen", "Initializing", "Running")
	expect.Eventually(t, timeout, func() error {
		text := printed()
		if !strings.Contains(text, "seen") || !strings.Contains(text, "Running") {
			return fmt.Errorf("the example subscriber printed %q", text)
		}
		return nil
	})

	sample := s.list(t, instances)[0]
	copied, _, err := unstructured.NestedMap(sample.Object, "spec")
	if err != nil {
		t.Fatal(err)
	}
	delete(copied, "id")
	if err := unstructured.SetNestedField(copied, "seen", "metadata", "postgres", "database"); err != nil {
		t.Fatal(err)
	}
	s.apply(t, instances, "seen", copied)
	s.wait(t, instances, "seen", isHealthy)
	spec := map[string]any{"instanceRef": sample.GetName(), "replicas": int64(2), "drainCheckEnabled": false}
	s.apply(t, engines, "seen", spec)
	s.wait(t, engines, "seen", isHealthy)
	spec["replicas"] = int64(3)
	s.apply(t, engines, "seen", spec)
	s.wait(t, engines, "seen", isHealthy)
	s.endsWith(t, "FireboltEngine", "seen", "creating", "switching", "cleaning", "stable")
}

// subscribe runs the example subscriber for events since one hour ago until the test ends,
// and returns a function that returns its output.
func (s *suite) subscribe(t *testing.T) func() string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "subscribe")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = filepath.Join(s.Root, "docs", "examples", "subscribe")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the example subscriber: %v\n%s", err, out)
	}
	output := filepath.Join(t.TempDir(), "output")
	file, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "--since", "1h")
	cmd.Env = append(os.Environ(), "NATS_URL="+s.Env["NATS_URL"])
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The end of the test's context kills it.
		if err := cmd.Wait(); err == nil {
			t.Error("the example subscriber exited before the end of the test")
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	})
	return func() string {
		text, err := os.ReadFile(output)
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
}

func (s *suite) secondUpChangesNothing(t *testing.T) {
	t.Helper()
	before := s.versions(t)
	if err := s.Make(t.Context(), "up"); err != nil {
		t.Fatal(err)
	}
	if after := s.versions(t); before != after {
		t.Errorf("make up changed the resources of a healthy stack:\nbefore: %s\nafter:  %s", before, after)
	}
}

// versions returns the generation and UID of every managed resource.
func (s *suite) versions(t *testing.T) string {
	t.Helper()
	var out []string
	for kind := range healthy {
		for _, item := range s.list(t, kind) {
			out = append(out, fmt.Sprintf("%s/%s@%d uid %s", item.GetKind(), item.GetName(), item.GetGeneration(), item.GetUID()))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// servicesAreKilled kills one service after another while objects are created and changed, and expects the stack to
// converge after each restart.
func (s *suite) servicesAreKilled(t *testing.T) {
	t.Helper()
	for i, service := range services {
		name := fmt.Sprintf("killed-%d", i)
		s.apply(t, supersets, name, superset("4.1.1"))
		s.apply(t, projects, name, map[string]any{"description": service, "tier": int64(2)})
		s.stack(t, "kill", service)
		s.apply(t, projects, name, map[string]any{"description": service + " was killed", "tier": int64(3)})
		s.stack(t, "start", service)
		s.wait(t, supersets, name, isHealthy)
		s.samplesAreHealthy(t)
		s.rowsMatchObjects(t)
		s.endsWith(t, "Superset", name, "Initializing", "Running")
	}
}

// natsIsDown stops NATS, makes changes, and expects all events of these changes after NATS has started again.
func (s *suite) natsIsDown(t *testing.T) {
	t.Helper()
	s.stack(t, "stop", "nats")
	s.apply(t, supersets, "without-nats", superset("4.1.1"))
	s.apply(t, projects, "without-nats", map[string]any{"description": "no bus", "tier": int64(1)})
	s.wait(t, supersets, "without-nats", isHealthy)
	s.rowsMatchObjects(t)
	s.stack(t, "start", "nats")
	s.endsWith(t, "Superset", "without-nats", "Initializing", "Running")
	s.checkChange(t, "without-nats", contract.ChangeCreated)
	s.samplesAreHealthy(t)
}

// aggregatorIsDown stops the aggregator and expects the operators to write the conditions.
func (s *suite) aggregatorIsDown(t *testing.T) {
	t.Helper()
	s.stack(t, "stop", "status-aggregator")
	s.apply(t, supersets, "alone", superset("4.1.1"))
	s.wait(t, supersets, "alone", isHealthy)
	s.stack(t, "start", "status-aggregator")
	s.endsWith(t, "Superset", "alone", "Initializing", "Running")
	s.samplesAreHealthy(t)
}

// mysqlIsDown deletes an object while MySQL is down. The deletion must wait until MySQL is available and store its row.
func (s *suite) mysqlIsDown(t *testing.T) {
	t.Helper()
	s.apply(t, projects, "deleted-without-mysql", map[string]any{"description": "stays until stored", "tier": int64(1)})
	s.rowsMatchObjects(t)
	s.stack(t, "stop", "mysql")
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(projects)
	obj.SetName("deleted-without-mysql")
	obj.SetNamespace("default")
	if err := s.Client.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	s.wait(t, projects, obj.GetName(), func(o *unstructured.Unstructured) error {
		if o.GetDeletionTimestamp() == nil {
			return errors.New("deletionTimestamp is not set")
		}
		return nil
	})
	s.stack(t, "start", "mysql")
	expect.Deleted(t, s.Client, obj)
	s.rowsMatchObjects(t)
	s.checkChange(t, obj.GetName(), contract.ChangeDeleted)
}

// checkChange waits for a change event of a project.
func (s *suite) checkChange(t *testing.T, name string, operation contract.ChangeOperation) {
	t.Helper()
	expect.Eventually(t, timeout, func() error {
		changes, err := s.Changes(t.Context())
		if err != nil {
			return err
		}
		for _, c := range changes {
			if c.Object.Name == name && c.Operation == operation {
				return nil
			}
		}
		return fmt.Errorf("no change event %q of %s among %d", operation, name, len(changes))
	})
}

// historyIsClean checks the history at the end: conditions of samples have not changed since the beginning,
// no event reports a failure, and the stream has no duplicates and no missing events.
func (s *suite) historyIsClean(t *testing.T) {
	t.Helper()
	now := s.transitionTimes(t)
	for key, before := range s.since {
		if now[key] != before {
			t.Errorf("%s changed from %s to %s", key, before, now[key])
		}
	}
	h, err := s.Lifecycle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Check(); err != nil {
		t.Error(err)
	}
	for kind := range healthy {
		for _, item := range s.list(t, kind) {
			if wrong := h.Wrong(item.GetKind(), item.GetName()); len(wrong) > 0 {
				t.Errorf("unexpected failures of %s %s in the history: %v", item.GetKind(), item.GetName(), wrong)
			}
		}
	}
}
