package legacyschema

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestCopyNoticeNamesDuration(t *testing.T) {
	const want = "changing table pipelinerun: copying about 1000000 rows takes about 2m6s; the table is read-only meanwhile"
	if got := copyNotice("pipelinerun", 1_000_000, 8_000); got != want {
		t.Errorf("the notice is %q, want %q", got, want)
	}
}

// TestProgressReportsRemainingTime repairs 100,000 rows in batches that take 2 s each, so every third one has a line.
func TestProgressReportsRemainingTime(t *testing.T) {
	var lines []string
	c := clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	p := &progress{report: func(line string) { lines = append(lines, line) }, clock: c}
	p.start("repairing table model", 100_000)
	for range 21 { // the server's estimate is too low
		c.Step(2 * time.Second)
		p.add(defaultBatch)
	}
	p.start("repairing table model_labels", defaultBatch)
	c.Step(time.Second)
	p.add(defaultBatch)
	want := []string{
		"repairing table model: about 100000 rows",
		"repairing table model: 15000 of about 100000 rows in 6s, about 34s left",
		"repairing table model: 30000 of about 100000 rows in 12s, about 28s left",
		"repairing table model: 45000 of about 100000 rows in 18s, about 22s left",
		"repairing table model: 60000 of about 100000 rows in 24s, about 16s left",
		"repairing table model: 75000 of about 100000 rows in 30s, about 10s left",
		"repairing table model: 90000 of about 100000 rows in 36s, about 4s left",
		"repairing table model: 105000 of about 105000 rows in 42s",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
