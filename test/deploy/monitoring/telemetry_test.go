package monitoring

import (
	"strings"
	"testing"
)

// Every question of docs/telemetry.md is asked of metrics that exist.
func TestTelemetryPageQueriesExistingMetrics(t *testing.T) {
	c := everyMetric(t)
	_, after, _ := strings.Cut(text(t, "docs/telemetry.md"), "### Ask\n```\n")
	block, _, _ := strings.Cut(after, "```")
	questions := 0
	for question := range strings.SplitSeq(strings.TrimSpace(block), "\n\n") {
		questions++
		if err := c.check(question); err != nil {
			t.Errorf("%s\n%v", question, err)
		}
	}
	if questions < 5 {
		t.Errorf("%d questions: the page is not read right", questions)
	}
}
