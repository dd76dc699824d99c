package metrics

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"
)

var (
	start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	main  = contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main"}
	other = contract.Ref{Cluster: "prod", Namespace: "team-a", Kind: contract.Superset, Name: "main-2"}
)

func available(status string, second int) []contract.Condition {
	return []contract.Condition{{Type: "Available", Status: status, LastTransitionTime: start.Add(time.Duration(second) * time.Second)}}
}

// setConditions records one object like the store and the controller.
func setConditions(m *Metrics, ref contract.Ref) {
	m.Conditions(ref, available("True", 0))
	m.Flips(ref, available("True", 0), available("False", 90))
	m.Conditions(ref, available("False", 90))
	m.Held(ref, "Degraded", true)
	m.Observed(ref, start)
}

func TestSeriesOfObject(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	setConditions(m, main)
	const want = `
# HELP flotilla_status_condition Status of a condition of a managed object, one series for each status.
# TYPE flotilla_status_condition gauge
flotilla_status_condition{kind="superset",name="main",namespace="team-a",status="False",type="Available"} 1
flotilla_status_condition{kind="superset",name="main",namespace="team-a",status="True",type="Available"} 0
flotilla_status_condition{kind="superset",name="main",namespace="team-a",status="Unknown",type="Available"} 0
# HELP flotilla_status_condition_since_timestamp_seconds Since when a condition has its status.
# TYPE flotilla_status_condition_since_timestamp_seconds gauge
flotilla_status_condition_since_timestamp_seconds{kind="superset",name="main",namespace="team-a",type="Available"} 1.767323135e+09
# HELP flotilla_status_condition_transitions_total Flips of a published condition.
# TYPE flotilla_status_condition_transitions_total counter
flotilla_status_condition_transitions_total{kind="superset",name="main",namespace="team-a",type="Available"} 1
# HELP flotilla_status_held_transitions 1 while damping holds back a flip of the condition.
# TYPE flotilla_status_held_transitions gauge
flotilla_status_held_transitions{kind="superset",name="main",namespace="team-a",type="Degraded"} 1
# HELP flotilla_status_observation_timestamp_seconds When the observation behind the conditions was stored on the bus.
# TYPE flotilla_status_observation_timestamp_seconds gauge
flotilla_status_observation_timestamp_seconds{kind="superset",name="main",namespace="team-a"} 1.767323045e+09
`
	names := []string{
		"flotilla_status_condition", "flotilla_status_condition_since_timestamp_seconds", "flotilla_status_condition_transitions_total",
		"flotilla_status_held_transitions", "flotilla_status_observation_timestamp_seconds",
	}
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(m.objects.duration); n != 1 {
		t.Errorf("%d series of the time in state, want that of the previous status", n)
	}
	m.Held(main, "Degraded", false)
	if n := testutil.CollectAndCount(m.objects.held); n != 0 {
		t.Errorf("%d flips are held back, want none", n)
	}
}

func TestSeriesAreDeletedWithObject(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	setConditions(m, main)
	setConditions(m, other)
	m.Forget(main)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	remaining := 0
	for _, f := range families {
		for _, series := range f.GetMetric() {
			for _, l := range series.GetLabel() {
				if l.GetName() == "name" && l.GetValue() == main.Name {
					t.Errorf("%s of a deleted object: %v", f.GetName(), series.GetLabel())
				}
				if l.GetName() == "name" && l.GetValue() == other.Name {
					remaining++
				}
			}
		}
	}
	if remaining != 7 {
		t.Errorf("%d series of the other object remain, want 7", remaining)
	}
	const want = `
# HELP flotilla_status_resources Managed objects by the status of a condition.
# TYPE flotilla_status_resources gauge
flotilla_status_resources{kind="superset",status="False",type="Available"} 1
flotilla_status_resources{kind="superset",status="True",type="Available"} 0
flotilla_status_resources{kind="superset",status="Unknown",type="Available"} 0
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "flotilla_status_resources"); err != nil {
		t.Error(err)
	}
}

// The entry of an object may have a condition type of a later release.
func TestSeriesOfUnknownTypeAreDeletedWithObject(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	m, err := New(r, PerObject)
	if err != nil {
		t.Fatal(err)
	}
	m.Conditions(main, []contract.Condition{{Type: "Later", Status: "True", LastTransitionTime: start}, {Type: "Last", Status: "True", LastTransitionTime: start}})
	m.Conditions(main, []contract.Condition{{Type: "Last", Status: "True", LastTransitionTime: start}})
	m.Forget(main)
	for name, series := range map[string]prometheus.Collector{
		"condition": m.objects.condition, "since": m.objects.since, "transitions": m.objects.transitions,
	} {
		if n := testutil.CollectAndCount(series); n != 0 {
			t.Errorf("%s has %d series of a deleted object", name, n)
		}
	}
}

// Prometheus sees no increase of a series that begins with its first count, and an alert watches these.
func TestPublishErrorsBeginAtZero(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	if _, err := New(r); err != nil {
		t.Fatal(err)
	}
	const want = `
# HELP flotilla_status_publish_results_total Total number of writes to the bus by outcome.
# TYPE flotilla_status_publish_results_total counter
flotilla_status_publish_results_total{outcome="denied",store="dlq"} 0
flotilla_status_publish_results_total{outcome="denied",store="kv"} 0
flotilla_status_publish_results_total{outcome="denied",store="lifecycle"} 0
flotilla_status_publish_results_total{outcome="failed",store="dlq"} 0
flotilla_status_publish_results_total{outcome="failed",store="kv"} 0
flotilla_status_publish_results_total{outcome="failed",store="lifecycle"} 0
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "flotilla_status_publish_results_total"); err != nil {
		t.Error(err)
	}
}

// With ten thousand objects, each series of an object costs ten thousand series.
func TestSeriesOfObjectAreBounded(t *testing.T) {
	every := conditions.Compute(conditions.Input{Now: start, WithReady: true}).Conditions
	published := make([]contract.Condition, len(every))
	for i, c := range every {
		published[i] = contract.Condition{Type: c.Type, Status: string(c.Status), LastTransitionTime: start}
	}
	for name, tc := range map[string]struct {
		options []Option
		most    int
	}{
		"series of alerts and dashboards": {nil, 12},
		"all series":                      {[]Option{PerObject}, 37},
	} {
		t.Run(name, func(t *testing.T) {
			r := prometheus.NewPedanticRegistry()
			m, err := New(r, tc.options...)
			if err != nil {
				t.Fatal(err)
			}
			count := func() int {
				families, err := r.Gather()
				if err != nil {
					t.Fatal(err)
				}
				n := 0
				for _, f := range families {
					n += len(f.GetMetric())
				}
				return n
			}
			for _, ref := range []contract.Ref{main, other} {
				m.Conditions(ref, published)
				m.Flips(ref, published, available("True", 0))
				m.Held(ref, "Degraded", true)
				m.Observed(ref, start)
			}
			before := count()
			m.Forget(other) // only the series of this object are deleted
			if n := before - count(); n != tc.most {
				t.Errorf("%d series of an object, want %d", n, tc.most)
			}
		})
	}
}

// names collects the registered metrics.
type names map[string]bool

func (n names) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc, 10)
	c.Describe(descriptions)
	close(descriptions)
	for d := range descriptions {
		n[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	return nil
}

func (n names) MustRegister(...prometheus.Collector) {}

func (n names) Unregister(prometheus.Collector) bool { return true }

// The package comment lists the registered metrics.
func TestDocListsMetrics(t *testing.T) {
	registered := names{}
	if _, err := New(registered); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := names{}
	for _, found := range regexp.MustCompile(`(?m)^//\t(flotilla_status_\w+)`).FindAllSubmatch(text, -1) {
		documented[string(found[1])] = true
	}
	if diff := cmp.Diff(documented, registered); diff != "" {
		t.Errorf("documented and registered differ:\n%s", diff)
	}
}

// Names and types pass the Prometheus linter.
func TestMetricsPassLinter(t *testing.T) {
	r := prometheus.NewRegistry()
	m, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	setConditions(m, main)
	problems, err := testutil.GatherAndLint(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
