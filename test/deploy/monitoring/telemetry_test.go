package monitoring

import (
	"strings"
	"testing"
)

// TestTelemetryPageQueriesExistingMetrics compares the example queries of docs/telemetry.md with the metrics.
func TestTelemetryPageQueriesExistingMetrics(t *testing.T) {
	c := everyMetric(t)
	_, after, _ := strings.Cut(text(t, "docs/telemetry.md"), "### Example queries\n```\n")
	block, _, _ := strings.Cut(after, "```")
	queries := 0
	for query := range strings.SplitSeq(strings.TrimSpace(block), "\n\n") {
		queries++
		if err := c.check(query); err != nil {
			t.Errorf("%s\n%v", query, err)
		}
	}
	if queries < 5 {
		t.Errorf("%d queries: the page was not parsed", queries)
	}
}
