package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers the metrics of controllers
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/kube/certs"
	"github.com/flotilla-dev/flotilla/libs/telemetry"
)

const root = "../../../"

// catalog maps the names of all existing metrics to their labels.
type catalog map[string][]string

// pages returns the pages that declare metrics in tables.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(root + "services/*/docs/metrics.md")
	if err != nil || len(found) < 3 {
		t.Fatalf("pages: %v, %v", found, err)
	}
	for i := range found {
		found[i] = strings.TrimPrefix(filepath.ToSlash(found[i]), root)
	}
	return append(found, "services/status-aggregator/docs/http-api.md")
}

const aggregatorTable = "services/status-aggregator/internal/metrics/doc.go"

func everyMetric(t *testing.T) catalog {
	t.Helper()
	c := catalog{}
	for _, page := range pages(t) {
		c.readTables(t, page)
	}
	if len(c) < 4*5 {
		t.Fatalf("the pages declare %d metrics: the parser is broken", len(c))
	}
	c.readDoc(t, aggregatorTable)
	c.describe(registered(t))
	return c
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var quoted = regexp.MustCompile("`([^`]+)`")

// readTables reads Markdown tables with a column "metric" and one "labels".
func (c catalog) readTables(t *testing.T, page string) {
	t.Helper()
	found, labels := 0, -1
	for line := range strings.Lines(text(t, page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if cells[0] == "metric" {
			labels = slices.Index(cells, "labels")
			continue
		}
		name := quoted.FindStringSubmatch(cells[0])
		if !strings.HasPrefix(line, "| `") || labels < 0 || name == nil {
			continue
		}
		found++
		c[name[1]] = []string{}
		for _, label := range quoted.FindAllStringSubmatch(cells[labels], -1) {
			c[name[1]] = append(c[name[1]], label[1])
		}
	}
	if found == 0 {
		t.Fatalf("%s declares %d metrics: the parser is broken", page, found)
	}
}

var (
	declared = regexp.MustCompile(`^//\t(\w+)(?:\{([\w,]+)\})?\s+(?:gauge|counter|histogram)\s`)
	ofEach   = regexp.MustCompile(`^// Of each object, labels ([\w, ]+?) and those named here[:.]`)
)

// readDoc reads a package comment that declares one metric per line. A heading may name labels of the lines below it.
func (c catalog) readDoc(t *testing.T, path string) {
	t.Helper()
	var inherited []string
	found := 0
	for line := range strings.Lines(text(t, path)) {
		if strings.HasPrefix(line, "// Of ") {
			inherited = nil
		}
		if heading := ofEach.FindStringSubmatch(line); heading != nil {
			inherited = strings.Split(heading[1], ", ")
		}
		metric := declared.FindStringSubmatch(line)
		if metric == nil {
			continue
		}
		found++
		labels := slices.Clone(inherited)
		if metric[2] != "" {
			labels = append(labels, strings.Split(metric[2], ",")...)
		}
		c[metric[1]] = labels
	}
	if found < 10 {
		t.Fatalf("%s declares %d metrics: the parser is broken", path, found)
	}
}

// recorder is a registerer that records the collectors.
type recorder struct{ all []prometheus.Collector }

func (r *recorder) Register(c prometheus.Collector) error { r.all = append(r.all, c); return nil }
func (r *recorder) MustRegister(cs ...prometheus.Collector) {
	r.all = append(r.all, cs...)
}
func (r *recorder) Unregister(prometheus.Collector) bool { return false }

// registered returns the collectors that every service has.
func registered(t *testing.T) []prometheus.Collector {
	t.Helper()
	r := &recorder{}
	conn, err := bus.Connect(bus.Config{URL: "nats://127.0.0.1:1", Name: "catalog", Registerer: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	telemetry.RegisterBuildInfo(r, "catalog")
	controllers, ok := ctrlmetrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("the registry of controller-runtime cannot be described")
	}
	return append(r.all, controllers, &certs.Serving{}, collectors.NewDBStatsCollector(nil, "ingester"), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

var described = regexp.MustCompile(`fqName: "(\w+)".*constLabels: \{(.*?)\}, variableLabels: \{(.*?)\}\}`)

// describe adds the metrics that the collectors describe.
func (c catalog) describe(all []prometheus.Collector) {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		for _, one := range all {
			one.Describe(descriptions)
		}
	}()
	for d := range descriptions {
		match := described.FindStringSubmatch(d.String())
		if match == nil {
			continue
		}
		labels := []string{}
		for pair := range strings.SplitSeq(match[2], ",") {
			if name, _, ok := strings.Cut(pair, "="); ok {
				labels = append(labels, name)
			}
		}
		for name := range strings.SplitSeq(match[3], ",") {
			if name != "" {
				labels = append(labels, name)
			}
		}
		c[match[1]] = labels
	}
	// A probe handler sets it; no library call registers only this metric.
	c["flotilla_api_server_reachable"] = []string{}
}

// find returns the labels of a series: those of its metric, and le for a bucket of a histogram.
func (c catalog) find(series string) ([]string, bool) {
	if labels, ok := c[series]; ok {
		return labels, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		base, cut := strings.CutSuffix(series, suffix)
		if labels, ok := c[base]; cut && ok {
			if suffix == "_bucket" {
				return append(slices.Clone(labels), "le"), true
			}
			return labels, true
		}
	}
	return nil, false
}

func TestCatalogueContainsServiceMetrics(t *testing.T) {
	c := everyMetric(t)
	for name, want := range map[string][]string{
		"superset_instances":                        {"phase"},
		"firebolt_engine_status_condition":          {"namespace", "name", "instance", "type"},
		"flotilla_ingester_rejected_total":          {"kind", "field"},
		"flotilla_status_condition":                 {"kind", "namespace", "name", "type", "status"},
		"flotilla_status_lease_held":                nil,
		"flotilla_bus_published_total":              {"outcome"},
		"flotilla_build_info":                       {"service", "version", "revision", "goversion"},
		"controller_runtime_reconcile_errors_total": {"controller"},
		"go_sql_in_use_connections":                 {"db_name"},
		"process_cpu_seconds_total":                 {},
	} {
		got, ok := c.find(name)
		for _, label := range want {
			ok = ok && slices.Contains(got, label)
		}
		if !ok {
			t.Errorf("%s has labels %v, want %v", name, got, want)
		}
	}
	if _, ok := c.find("flotilla_status_unheard_of"); ok {
		t.Error("a metric that does not exist was found")
	}
}
