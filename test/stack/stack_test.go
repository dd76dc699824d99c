package stack_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/goprogram"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

// timeout is the timeout of each wait.
const timeout = expect.Long

var (
	supersets = schema.GroupVersionKind{Group: "superset.apache.org", Version: "v1alpha1", Kind: "Superset"}
	engines   = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltEngine"}
	instances = schema.GroupVersionKind{Group: "compute.firebolt.io", Version: "v1alpha1", Kind: "FireboltInstance"}
	projects  = schema.GroupVersionKind{Group: "michelangelo.api", Version: "v2", Kind: "Project"}
	models    = schema.GroupVersionKind{Group: "michelangelo.api", Version: "v2", Kind: "Model"}
	services  = goprogram.MustServices("../..")
)

// healthy maps each kind with conditions to the phase of a healthy resource.
var healthy = map[schema.GroupVersionKind]string{supersets: "Running", engines: "stable", instances: "Ready"}

// suite is the platform under test. Its methods fail the given test on errors.
type suite struct {
	*platform.Platform
	// since has the status and transition time of each condition of each sample at the beginning.
	since map[string]string
}

// TestWholeStack starts the platform with make up, and then stops one component after the other. The order matters: each
// step leaves the platform healthy for the next.
func TestWholeStack(t *testing.T) {
	spans := tracing(t)
	s := start(t)
	steps := []struct {
		name string
		run  func(*testing.T)
	}{
		{"every sample is healthy", s.samplesAreHealthy},
		{"MySQL matches the cluster", s.rowsMatchObjects},
		{"a subscriber receives a change", s.changeIsPropagated},
		{"one trace contains all effects of a spec change", func(t *testing.T) {
			t.Helper()
			s.traceIsComplete(t, spans)
		}},
		{"services export the documented metrics", s.metricsMatchPage},
		{"a second make up changes nothing", s.secondUpChangesNothing},
		{"the platform converges after a service is killed", s.servicesAreKilled},
		{"NATS is down", s.natsIsDown},
		{"the aggregator is down", s.aggregatorIsDown},
		{"MySQL is down", s.mysqlIsDown},
		{"kubectl wait never ends early", func(t *testing.T) {
			t.Helper()
			s.waitNeverEndsEarly(t, 50)
		}},
		{"samples have no failures in the history", s.historyIsClean},
		{"services need their permissions", s.permissionsAreUsed},
		{"the documented commands succeed", s.pagesLinkCorrectly},
	}
	for _, step := range steps {
		if !t.Run(step.name, step.run) {
			t.Fatalf("%q failed; later steps depend on it", step.name)
		}
	}
}

func start(t *testing.T) *suite {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := &suite{Platform: &platform.Platform{Root: root, Local: filepath.Join(t.TempDir(), "local"), Out: os.Stderr}}
	t.Cleanup(func() { s.stop(t) })
	if err := s.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// stop stops the stack, also after a failure, and checks that no process is left.
func (s *suite) stop(t *testing.T) {
	t.Helper()
	if t.Failed() {
		logs, err := s.Logs()
		if err != nil {
			t.Error(err)
		}
		for name, text := range logs {
			t.Logf("--- end of %s\n%s", name, text)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	// The context of the test has ended.
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := s.Down(ctx); err != nil {
		t.Error(err)
	}
}

// list returns all objects of a kind in the samples' namespace.
func (s *suite) list(t *testing.T, kind schema.GroupVersionKind) []unstructured.Unstructured {
	t.Helper()
	items, err := s.read(t.Context(), kind)
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func (s *suite) read(ctx context.Context, kind schema.GroupVersionKind) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := s.Client.List(ctx, list, client.InNamespace("default")); err != nil {
		return nil, fmt.Errorf("list %s: %w", kind.Kind, err)
	}
	return list.Items, nil
}

// wait waits until check accepts the object.
func (s *suite) wait(t *testing.T, kind schema.GroupVersionKind, name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(kind)
	expect.Eventually(t, timeout, func() error {
		if err := s.Client.Get(t.Context(), types.NamespacedName{Namespace: "default", Name: name}, obj); err != nil {
			return err
		}
		return check(obj)
	})
	return obj
}

// isHealthy returns an error unless an object is in its healthy phase and has healthy conditions for its latest generation.
func isHealthy(obj *unstructured.Unstructured) error {
	phase, _, err := unstructured.NestedString(obj.Object, "status", "phase")
	if err != nil {
		return err
	}
	if want := healthy[obj.GroupVersionKind()]; phase != want {
		return fmt.Errorf("%s %s is in phase %q, want %q", obj.GetKind(), obj.GetName(), phase, want)
	}
	conditions, err := expect.Conditions(obj)
	if err != nil {
		return err
	}
	want := map[string]string{"Available": "True", "Progressing": "False", "Degraded": "False", "Paused": "False", "Stopped": "False", "Upgradable": "True"}
	for _, c := range conditions {
		status, known := want[c.Type]
		if !known {
			continue
		}
		if string(c.Status) != status || c.ObservedGeneration != obj.GetGeneration() {
			return fmt.Errorf("%s %s: condition %s is %s/%s of generation %d (%s), want %s of generation %d",
				obj.GetKind(), obj.GetName(), c.Type, c.Status, c.Reason, c.ObservedGeneration, c.Message, status, obj.GetGeneration())
		}
		delete(want, c.Type)
	}
	if len(want) > 0 {
		return fmt.Errorf("%s %s lacks conditions %v", obj.GetKind(), obj.GetName(), want)
	}
	return nil
}

func (s *suite) samplesAreHealthy(t *testing.T) {
	t.Helper()
	for kind := range healthy {
		items := s.list(t, kind)
		if len(items) == 0 {
			t.Fatalf("make up applied no sample of kind %s", kind.Kind)
		}
		for _, item := range items {
			s.wait(t, kind, item.GetName(), isHealthy)
		}
	}
	if s.since == nil {
		s.since = s.transitionTimes(t)
	}
}

// transitionTimes returns the status and the transition time of each condition of each resource.
func (s *suite) transitionTimes(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for kind := range healthy {
		for _, item := range s.list(t, kind) {
			conditions, err := expect.Conditions(&item)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range conditions {
				key := fmt.Sprintf("%s %s %s", kind.Kind, item.GetName(), c.Type)
				out[key] = fmt.Sprintf("%s since %s", c.Status, c.LastTransitionTime)
			}
		}
	}
	return out
}

// rowsMatchObjects compares MySQL's live rows with the cluster's objects by uid and version.
func (s *suite) rowsMatchObjects(t *testing.T) {
	t.Helper()
	for _, kind := range []schema.GroupVersionKind{projects, models} {
		if len(s.list(t, kind)) == 0 {
			t.Fatalf("make up applied no sample of kind %s", kind.Kind)
		}
		expect.Eventually(t, timeout, func() error { return s.compareRows(t.Context(), kind) })
	}
}

func (s *suite) compareRows(ctx context.Context, kind schema.GroupVersionKind) error {
	items, err := s.read(ctx, kind)
	if err != nil {
		return err
	}
	table := strings.ToLower(kind.Kind)
	rows, err := s.DB.QueryContext(ctx, "SELECT uid, res_version FROM "+table+" WHERE delete_time IS NULL")
	if err != nil {
		return err
	}
	defer rows.Close()
	stored := map[string]string{}
	for rows.Next() {
		var uid, version string
		if err := rows.Scan(&uid, &version); err != nil {
			return err
		}
		stored[uid] = version
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if len(stored) != len(items) {
		return fmt.Errorf("%s: %d live rows, %d objects", table, len(stored), len(items))
	}
	for _, item := range items {
		if got := stored[string(item.GetUID())]; got != item.GetResourceVersion() {
			return fmt.Errorf("%s %s: row has version %q, object %q", table, item.GetName(), got, item.GetResourceVersion())
		}
	}
	return nil
}
