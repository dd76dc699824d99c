package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) {
	os.Exit(cluster.Main(m, cluster.Options{CRDs: []string{
		"../../../../services/superset-operator/config/crd", "../../../../services/engine-operator/config/crd",
	}}))
}

// noon is the time of the commands in tests. It precedes the creation of the objects, so that their AGE is 0s.
var noon = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// buffer can be read while a command writes to it.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// shell runs commands like a user: with a kubeconfig, in a namespace.
type shell struct {
	t          *testing.T
	kubeconfig string
	cache      string // discovery cache, shared by the commands of the shell
	namespace  string
	app        func(*App) // changes the dependencies of the command
	bare       bool       // adds no arguments
	stdin      string
	out, err   *buffer
}

func newShell(t *testing.T, namespace string) *shell {
	t.Helper()
	return &shell{t: t, kubeconfig: cluster.Get(t).Kubeconfig, cache: t.TempDir(), namespace: namespace, out: &buffer{}, err: &buffer{}}
}

// start runs one command to its end and returns its error. Its output is in out and err.
func (s *shell) start(ctx context.Context, args ...string) error {
	return <-s.background(ctx, args...)
}

// background starts one command; the channel receives its error when it ends.
func (s *shell) background(ctx context.Context, args ...string) <-chan error {
	s.out, s.err = &buffer{}, &buffer{}
	app := &App{
		Streams: genericiooptions.IOStreams{In: strings.NewReader(s.stdin), Out: s.out, ErrOut: s.err},
		Clock:   clocktesting.NewFakeClock(noon),
		Browse:  func(context.Context, string) (func(), error) { return func() {}, nil },
	}
	if s.app != nil {
		s.app(app)
	}
	command := New(app) //nolint:contextcheck // ExecuteContext passes it
	done := make(chan error, 1)
	run := func(args []string) <-chan error {
		command.SetArgs(args)
		go func() { done <- command.ExecuteContext(ctx) }()
		return done
	}
	if s.bare {
		return run(args)
	}
	all := []string{"--cache-dir", s.cache}
	if s.kubeconfig != "" {
		all = append(all, "--kubeconfig", s.kubeconfig)
	}
	if s.namespace != "" {
		all = append(all, "--namespace", s.namespace)
	}
	return run(append(args, all...))
}

// ended returns the error of a command in the background that must end by itself.
func (s *shell) ended(done <-chan error) error {
	s.t.Helper()
	select {
	case err := <-done:
		return err
	case <-time.After(expect.Long):
		s.t.Fatalf("the command still runs\n%s%s", s.out, s.err)
		return nil
	}
}

// run runs a command that must succeed.
func (s *shell) run(args ...string) string {
	s.t.Helper()
	if err := s.start(s.t.Context(), args...); err != nil {
		s.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, s.out, s.err)
	}
	return s.out.String()
}

// fail runs a command that must fail with an error that contains want.
func (s *shell) fail(want string, args ...string) {
	s.t.Helper()
	err := s.start(s.t.Context(), args...)
	if err == nil || !strings.Contains(err.Error(), want) {
		s.t.Errorf("%s: got %v, want an error with %q\n%s%s", strings.Join(args, " "), err, want, s.out, s.err)
	}
}

func realClock(a *App) { a.Clock = clock.RealClock{} }

// golden compares text with a file of testdata; it first replaces names that differ between runs.
func (s *shell) golden(name, got string) {
	s.t.Helper()
	if s.namespace != "" {
		got = strings.ReplaceAll(got, s.namespace, "team-a")
	}
	got = strings.ReplaceAll(got, "   0s", "   4h") // the objects are as old as the test
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// create creates the objects of a file of testdata in a namespace, with their statuses.
func create(t *testing.T, namespace, file string) []*unstructured.Unstructured {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	cl := cluster.Get(t).Client(t, runtime.NewScheme())
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(string(raw), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(namespace)
		status := u.Object["status"]
		delete(u.Object, "status")
		if err := cl.Create(t.Context(), u, client.FieldOwner("superset-operator")); err != nil {
			t.Fatalf("create %s: %v", u.GetName(), err)
		}
		if status != nil {
			setStatus(t, u, status)
		}
		out = append(out, u)
	}
	return out
}

// setStatus writes a status like the operators and the aggregator: the operator its own condition, the aggregator the others.
func setStatus(t *testing.T, u *unstructured.Unstructured, status any) {
	t.Helper()
	all, _ := status.(map[string]any)["conditions"].([]any)
	for _, c := range all {
		if c.(map[string]any)["type"] == "LifecycleComplete" {
			patchStatusAs(t, u, "superset-operator", map[string]any{"status": map[string]any{"conditions": []any{c}}})
		}
	}
	patchStatus(t, u, map[string]any{"status": status})
}

func patchStatus(t *testing.T, u *unstructured.Unstructured, patch map[string]any) {
	t.Helper()
	patchStatusAs(t, u, "flotilla-conditions", patch)
}

func patchStatusAs(t *testing.T, u *unstructured.Unstructured, owner client.FieldOwner, patch map[string]any) {
	t.Helper()
	raw, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	cl := cluster.Get(t).Client(t, runtime.NewScheme())
	if err := cl.Status().Patch(t.Context(), u, client.RawPatch(types.MergePatchType, raw), owner); err != nil {
		t.Fatalf("write the status of %s: %v", u.GetName(), err)
	}
}

// condition is one entry of status.conditions.
func condition(conditionType, status, reason string, generation int64) map[string]any {
	return map[string]any{
		"type": conditionType, "status": status, "reason": reason, "message": "As the test says.",
		"observedGeneration": generation, "lastTransitionTime": metav1.NewTime(noon.Add(-time.Hour)),
	}
}
