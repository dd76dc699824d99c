package sweep

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
)

// Prometheus sees no increase of a series that begins with its first count, and FlotillaIngesterSweepAborted watches these.
func TestAbortsBeginAtZero(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	metrics := prometheus.NewRegistry()
	if _, err := New(Config{Registerer: metrics, Kinds: kinds.Kinds()}); err != nil {
		t.Fatal(err)
	}
	want := 3 * len(kinds.Kinds())
	if n, err := testutil.GatherAndCount(metrics, "flotilla_ingester_sweep_aborted_total"); err != nil || n != want {
		t.Errorf("%d series, %v, want %d: threshold, empty and cluster of each kind", n, err, want)
	}
}

// capturedEvents captures the objects of events.
type capturedEvents []string

func (c *capturedEvents) Eventf(regarding, related runtime.Object, _, reason, _, _ string, _ ...any) {
	describe := func(o runtime.Object) string {
		if o == nil {
			return "none"
		}
		m := o.(metav1.Object)
		return m.GetNamespace() + "/" + m.GetName()
	}
	*c = append(*c, reason+" "+describe(regarding)+" "+describe(related))
}

// FlotillaIngesterSweepsFail waits for the time of the last sweep, so it is absent where none is expected.
func TestTimeOfLastSweepIsThatOfPeriodicSweeps(t *testing.T) {
	for interval, want := range map[time.Duration]int{0: 0, time.Minute: 1} {
		metrics := prometheus.NewRegistry()
		if _, err := New(Config{Options: Options{Interval: interval}, Registerer: metrics}); err != nil {
			t.Fatal(err)
		}
		if n, err := testutil.GatherAndCount(metrics, "flotilla_ingester_sweep_last_success_timestamp_seconds"); err != nil || n != want {
			t.Errorf("interval %s: %d series, want %d: %v", interval, n, want, err)
		}
	}
}

// Events are in the namespace of the service, where the chart permits them also with watchNamespaces, and separate by kind.
func TestAbortEventIsInNamespaceOfService(t *testing.T) {
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	var got capturedEvents
	regarding := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "ingester-checkpoint"}}
	s, err := New(Config{Kinds: kinds.Kinds(), Events: &got, Regarding: regarding})
	if err != nil {
		t.Fatal(err)
	}
	var want capturedEvents
	for _, kind := range kinds.Kinds() {
		s.report(kind, checkThresholds(scanResult{rows: 11, missing: 11}))
		want = append(want, "SweepAborted home/ingester-checkpoint /"+kind.Plural+".michelangelo.api")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestCheckThresholds(t *testing.T) {
	tests := map[string]struct {
		seen scanResult
		want reason
	}{
		"nothing is lost":                           {scanResult{rows: 1000, objects: 1000, newest: 7, version: 7}, ""},
		"no rows at all":                            {scanResult{version: 7}, ""},
		"one of one is lost":                        {scanResult{rows: 1, missing: 1, version: 7}, ""},
		"one of two is lost":                        {scanResult{rows: 2, missing: 1, objects: 1, version: 7}, ""},
		"a few, and all of them are lost":           {scanResult{rows: 10, missing: 10, version: 7}, ""},
		"all of more than a few are lost":           {scanResult{rows: 11, missing: 11, version: 7}, empty},
		"all are lost but others are new":           {scanResult{rows: 11, missing: 11, objects: 1, version: 7}, ""},
		"no object, and no row that lacks one":      {scanResult{rows: 0, missing: 0, version: 7}, ""},
		"a hundred of a hundred and one":            {scanResult{rows: 101, missing: 100, objects: 1, version: 7}, ""},
		"a hundred and one, more than a fifth":      {scanResult{rows: 504, missing: 101, objects: 403, version: 7}, threshold},
		"a hundred and one, a fifth":                {scanResult{rows: 505, missing: 101, objects: 404, version: 7}, ""},
		"many, far less than a fifth":               {scanResult{rows: 100_000, missing: 5000, objects: 95_000, version: 7}, ""},
		"a list that is older than a row":           {scanResult{rows: 5, missing: 1, objects: 4, newest: 8, version: 7}, older},
		"an older list in which nothing is lost":    {scanResult{rows: 5, objects: 5, newest: 8, version: 7}, older},
		"rows of a former incarnation do not count": {scanResult{rows: 5, missing: 1, objects: 4, newest: 0, version: 7}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := checkThresholds(tc.seen)
			switch {
			case got == nil && tc.want != "":
				t.Errorf("accepted, want %s", tc.want)
			case got != nil && got.reason != tc.want:
				t.Errorf("%s (%v), want %q", got.reason, got, tc.want)
			case got != nil && !got.needsInvestigation():
				t.Errorf("%s is not suspicious", got.reason)
			}
		})
	}
}
