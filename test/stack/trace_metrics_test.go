package stack_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

// everyService is the heading in docs/telemetry.md of the metrics that all services export.
const everyService = "Every service"

// metricsMatchPage scrapes the services after the previous steps, and expects every
// metric that docs/telemetry.md documents.
func (s *suite) metricsMatchPage(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.Root, "docs", "telemetry.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := metricsOf(string(text))
	for _, service := range services {
		documented := append(slices.Clone(page[everyService]), page[service]...)
		if len(page[everyService]) == 0 || len(page[service]) == 0 {
			t.Fatalf("docs/telemetry.md has no table for %s; its sections are %v", service, slices.Sorted(maps.Keys(page)))
		}
		url := s.Env[strings.ToUpper(strings.ReplaceAll(service, "-", "_"))+"_METRICS"]
		// Some metrics are exported only after their first event.
		expect.Eventually(t, timeout, func() error {
			families, err := platform.Scrape(t.Context(), url)
			if err != nil {
				return err
			}
			var missing []string
			for _, name := range documented {
				if len(families[name].GetMetric()) == 0 {
					missing = append(missing, name)
				}
			}
			if len(missing) > 0 {
				return fmt.Errorf("%s lacks %v of docs/telemetry.md; it has %v", service, missing, slices.Sorted(maps.Keys(families)))
			}
			return nil
		})
	}
}

var metricRow = regexp.MustCompile("^\\| `([a-z0-9_]+)` \\|")

// metricsOf returns the first column of the tables under "## Metrics", by section.
func metricsOf(page string) map[string][]string {
	out := map[string][]string{}
	group, section := "", ""
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "## "):
			group, section = strings.TrimPrefix(line, "## "), ""
		case strings.HasPrefix(line, "### "):
			section = strings.TrimPrefix(line, "### ")
		}
		if row := metricRow.FindStringSubmatch(line); row != nil && group == "Metrics" {
			out[section] = append(out[section], row[1])
		}
	}
	return out
}

func TestMetricsOfReadsPage(t *testing.T) {
	got := metricsOf("## Traces\n| `no` |\n## Metrics\n### Every service\n| metric | unit |\n|---|---|\n| `a_total` | 1 |\n### ingester\n| `b` | s |\ntext `c`\n")
	if want := map[string][]string{everyService: {"a_total"}, "ingester": {"b"}}; !maps.EqualFunc(want, got, slices.Equal) {
		t.Errorf("got %v", got)
	}
}
