package object

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/kube/coalesce"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/observe"
)

// countingWriter counts the writes.
type countingWriter struct{ writes int }

func (w *countingWriter) ApplyConditions(context.Context, client.Object, []metav1.Condition) (bool, error) {
	w.writes++
	return true, nil
}

func TestWriteDelaysDetailsOnly(t *testing.T) {
	clk, writer := clocktesting.NewFakePassiveClock(now), &countingWriter{}
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	r := New(Config{Permitted: func() bool { return true }, Writer: writer, Clock: clk, Metrics: m})
	list := func(status metav1.ConditionStatus, message string) []metav1.Condition {
		return []metav1.Condition{{Type: conditions.TypeAvailable, Status: status, Message: message}}
	}
	present := list("Unknown", "")
	steps := []struct {
		after   int // seconds since the first step
		want    []metav1.Condition
		written bool
	}{
		{0, list("False", "0 of 2"), true},
		{1, list("False", "1 of 2"), false},
		{4, list("True", "2 of 2"), true},
		{5, list("True", "all"), false},
		{9, list("True", "all"), true},
		{60, list("True", "all of them"), true}, // at once after a pause
	}
	for i, step := range steps {
		clk.SetTime(at(step.after))
		s := &reconcileState{
			ref:    contract.Ref{Kind: contract.Superset, Namespace: "n", Name: "a"},
			live:   observe.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{}}, Conditions: present},
			result: conditions.Result{Conditions: step.want},
		}
		before := writer.writes
		result, err := r.write(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if written := writer.writes > before; written != step.written || written != (result.Requeue == 0) || result.Requeue > coalesce.Interval {
			t.Errorf("step %d: written %v, requeue after %v; want %v", i, written, result.Requeue, step.written)
		}
		if step.written {
			present = step.want
		}
	}
}

// Prometheus sees no increase of a series that begins with its first count, and FlotillaConditionsRefused watches this one.
func TestRefusedWritesBeginAtZero(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := metrics.New(r)
	if err != nil {
		t.Fatal(err)
	}
	New(Config{Clock: clocktesting.NewFakePassiveClock(now), Metrics: m})
	const want = `# HELP flotilla_status_condition_writes_total Total number of condition writes by outcome.
# TYPE flotilla_status_condition_writes_total counter
flotilla_status_condition_writes_total{outcome="refused"} 0
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "flotilla_status_condition_writes_total"); err != nil {
		t.Error(err)
	}
}
