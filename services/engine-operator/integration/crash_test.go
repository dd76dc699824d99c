package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/services/engine-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/engine-operator/internal/names"
)

// crashingTransport is a process that crashes right after a write: the API server has processed the write, and
// the process does nothing afterwards.
type crashingTransport struct {
	isLast func(write string) bool // selects the write

	mu         sync.Mutex
	crashed    chan struct{}
	hasCrashed bool
	writes     []string
}

func newCrashingTransport(isLast func(write string) bool) *crashingTransport {
	return &crashingTransport{isLast: isLast, crashed: make(chan struct{})}
}

var errCrashed = errors.New("the operator has crashed")

func (m *crashingTransport) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if m == nil {
		return next.RoundTrip(r)
	}
	write, err := describe(r)
	if err != nil || write == "" {
		return m.read(next, r, err)
	}
	m.mu.Lock() // one write at a time, so that the last one is the last one
	defer m.mu.Unlock()
	if m.hasCrashed {
		return nil, errCrashed
	}
	res, err := next.RoundTrip(r)
	if err == nil && res.StatusCode < http.StatusMultipleChoices {
		m.writes = append(m.writes, write)
		if m.isLast(write) {
			m.hasCrashed = true
			close(m.crashed)
		}
	}
	return res, err
}

func (m *crashingTransport) read(next http.RoundTripper, r *http.Request, err error) (*http.Response, error) {
	m.mu.Lock()
	hasCrashed := m.hasCrashed
	m.mu.Unlock()
	if hasCrashed {
		return nil, errCrashed
	}
	if err != nil {
		return nil, err
	}
	return next.RoundTrip(r)
}

// describe names a write by method, path and, for a status, phase; reads, Leases and events have no name.
func describe(r *http.Request) (string, error) {
	if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/leases") || strings.Contains(r.URL.Path, "/events") {
		return "", nil
	}
	_, path, _ := strings.Cut(r.URL.Path, "/namespaces/")
	_, path, _ = strings.Cut(path, "/")
	write := r.Method + " " + path
	if r.Body == nil || !strings.HasSuffix(path, "/status") {
		return write, nil
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if _, after, ok := strings.Cut(string(raw), `"phase":"`); ok {
		phase, _, _ := strings.Cut(after, `"`)
		write += " " + phase
	}
	return write, nil
}

// isCrashed reports whether the process has crashed.
func (m *crashingTransport) isCrashed() bool {
	select {
	case <-m.crashed:
		return true
	default:
		return false
	}
}

// crashAfter runs an operator that crashes right after a write whose name has this suffix.
func (s *testEnv) crashAfter(end string) {
	s.t.Helper()
	m := newCrashingTransport(func(write string) bool { return strings.HasSuffix(write, end) })
	s.crashingTransport = m
	s.run()
	expect.Eventually(s.t, expect.Long, func() error {
		if !m.isCrashed() {
			return fmt.Errorf("no write %q", end)
		}
		return nil
	})
	s.stopAndWait()
	s.crashingTransport = nil
}

// crash runs operators that each crash after a write, until the given state is reached, and
// returns these writes.
func (s *testEnv) crash(reached func() bool) []string {
	s.t.Helper()
	var out []string
	for !reached() {
		m := newCrashingTransport(func(string) bool { return true })
		s.crashingTransport = m
		s.run()
		expect.Eventually(s.t, expect.Long, func() error {
			if m.isCrashed() || reached() {
				return nil
			}
			return errors.New("the operator writes nothing, and the end is not reached")
		})
		s.stopAndWait()
		out = append(out, m.writes...)
		if len(out) > 200 {
			s.t.Fatalf("no end after %d writes:\n%s", len(out), strings.Join(out, "\n"))
		}
	}
	s.crashingTransport = nil
	return out
}

// Specification 001, "Crash recovery": the operator may crash after any single write of an
// installation and of a rollout.
func TestOperatorRecoversAfterEachWrite(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.stopAndWait()
	e := engineOf("a", 2)
	s.create(e)
	reached := func(n int64) func() bool {
		return func() bool {
			if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil {
				return false
			}
			return e.Status.Phase == v1alpha1.PhaseStable && e.Status.ObservedGeneration == e.Generation && e.Status.ActiveGeneration == n
		}
	}
	first := s.crash(reached(0))
	served := s.watchRoute(e)
	s.edit(e, func(e *v1alpha1.FireboltEngine) {
		e.Spec.Template, e.Spec.DrainCheckEnabled = template("example.com/engine:2.0"), nil
		e.Spec.DrainCheckInterval = &metav1.Duration{Duration: 100 * time.Millisecond}
	})
	second := s.crash(reached(1))
	s.run()
	s.waitForRollout(e, v1alpha1.PhaseStable, 1)
	s.checkChildren(e, "a-g1", "a-g1-config", "a-g1-hl", "a-service")
	for _, c := range []string{"Available", "Upgradable"} {
		expect.Condition(t, s.api, e, c, metav1.ConditionTrue)
	}
	if problems := served(); len(problems) > 0 {
		t.Errorf("while dying: %s", strings.Join(problems, "; "))
	}
	if got := phases(e); got != "creating switching stable creating switching draining cleaning stable" {
		t.Errorf("phases = %s", got)
	}
	t.Logf("crashed after %d writes of an installation and %d of a rollout", len(first), len(second))
	for _, write := range []string{
		"PATCH statefulsets/a-g0", "PATCH services/a-service", "PATCH fireboltengines/a/status switching",
		"PATCH statefulsets/a-g1", "PATCH fireboltengines/a/status draining", "DELETE statefulsets/a-g0",
		"DELETE configmaps/a-g0-config", "DELETE services/a-g0-hl", "PATCH fireboltengines/a/status cleaning",
	} {
		if !slices.Contains(slices.Concat(first, second), write) {
			t.Errorf("no operator crashed after %s; crashes after:\n%s", write, strings.Join(slices.Concat(first, second), "\n"))
		}
	}
}

// Defect 4: a deleted cluster Service is recreated in every phase and selects the
// generation that should serve.
func TestDefect4DeletedServiceIsRecreatedInEachPhase(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		phase    v1alpha1.EnginePhase
		selected string
	}{
		{v1alpha1.PhaseCreating, "0"},
		{v1alpha1.PhaseSwitching, "1"},
		{v1alpha1.PhaseDraining, "1"},
		{v1alpha1.PhaseCleaning, "1"},
		{v1alpha1.PhaseStable, "1"},
	} {
		t.Run(string(tc.phase), func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			e := engineOf("a", 1)
			s.create(e)
			s.waitForRollout(e, v1alpha1.PhaseStable, 0)
			s.stopAndWait()
			s.edit(e, func(e *v1alpha1.FireboltEngine) {
				e.Spec.Template = template("example.com/engine:2.0")
				if tc.phase == v1alpha1.PhaseDraining {
					e.Spec.DrainCheckEnabled = nil
				}
			})
			s.crashAfter("status " + string(tc.phase))
			services := s.record(corev1.SchemeGroupVersion.WithKind("Service"))
			s.remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "a-service"}})
			s.run()
			s.waitForRollout(e, v1alpha1.PhaseStable, 1)
			expect.Object(t, s.api, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "a-service"}},
				func(o *corev1.Service) error {
					if o.Spec.Selector[names.LabelGeneration] != "1" {
						return fmt.Errorf("selects %v", o.Spec.Selector)
					}
					return nil
				})
			if seen := selectedAfterDeletion(services.snapshots()); len(seen) == 0 || seen[0] != tc.selected {
				t.Errorf("the recreated Service selected %v, want generation %s first", seen, tc.selected)
			}
		})
	}
}

// selectedAfterDeletion lists the generations that the cluster Service selects, in order,
// after it was deleted.
func selectedAfterDeletion(snapshots []snapshot) []string {
	var out []string
	deleted := false
	for _, m := range snapshots {
		service := m["Service/a-service"]
		if service == nil {
			deleted = true
			continue
		}
		n, _, _ := unstructured.NestedString(service.Object, "spec", "selector", names.LabelGeneration)
		if deleted && (len(out) == 0 || out[len(out)-1] != n) {
			out = append(out, n)
		}
	}
	return out
}
