package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/run"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

var update = flag.Bool("update", false, "write the golden files")

var startedAt = time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return startedAt.Add(time.Duration(s * float64(time.Second))) }

func figuresOf(phase string, answers, failed int) *load.Figures {
	f := load.Sum(phase)
	f.Answers, f.Failed, f.Retried = answers, failed, 2
	f.LongestGap, f.GapStart = 1.25, at(3)
	f.Classes = map[string]int{"200 old": answers - failed}
	f.Latency[2].Count, f.Latency[len(f.Latency)-1].Count = answers-failed, 0
	if failed > 0 {
		f.Classes["refused"] = failed
		f.Failures = []string{"10:00:04.000 refused: dial tcp 10.0.0.7:3473: connect: connection refused <b>"}
	}
	return &f
}

// sample returns a report with a scenario that passed, one that failed, and one that panicked.
func sample() Report {
	const engine, superset = "FireboltEngine data/etl", "Superset bi/main"
	passing, failing := figuresOf("scale to 3", 400, 0), figuresOf("upgrade", 200, 7)
	return Report{
		Title: "Flotilla on a real node", StartedAt: startedAt, Seconds: 210.5,
		Results: []run.Result{
			{
				Name: "engine-rollout", Title: "An engine is changed in every way while queries run.", StartedAt: startedAt, Seconds: 60,
				Phases: []run.PhaseResult{
					{Name: "scale to 3", StartedAt: startedAt, Seconds: 20, Load: passing},
					{Name: "stop", Outage: true, StartedAt: at(20), Seconds: 40, Load: figuresOf("stop", 10, 10)},
				},
				Total: load.Sum("all", *passing),
				Changes: []timeline.Change{
					{Time: at(1), Object: engine, Type: "Available", Status: "False", Reason: "Initializing"},
					{Time: at(2), Object: engine, Type: timeline.Phase, Status: "creating"},
					{Time: at(10), Object: engine, Type: "Available", Status: "True", Reason: "AllComponentsReady"},
					{Time: at(12), Object: engine, Type: timeline.Phase, Status: "stable"},
					{Time: at(15), Object: engine, Type: "Degraded", Status: "True", Reason: "CrashLoop"},
					{Time: at(18), Object: engine, Type: "Degraded", Status: "False", Reason: "Healthy"},
					{Time: at(50), Object: engine, Type: "Available"},
				},
				Notes: []string{"generations seen: 1, 2, 3"},
			},
			{
				Name: "superset-upgrade", Title: "An upgrade shows the old page, the maintenance page and the new one.", StartedAt: at(60), Seconds: 150.5,
				Problem: "phase upgrade: 7 of 200 answers failed\nand another line with a very long word " + strings.Repeat("x", 200),
				Waited:  "Superset bi/main is Running; last seen: phase is Draining",
				Phases:  []run.PhaseResult{{Name: "upgrade", StartedAt: at(60), Seconds: 150.5, Load: failing}, {Name: "nobody", StartedAt: at(100), Seconds: 1}},
				Total:   load.Sum("all", *failing),
				Changes: []timeline.Change{{Time: at(70), Object: superset, Type: "Progressing", Status: "True", Reason: "Upgrading"}},
			},
			{Name: "panicked", Title: "It never began.", StartedAt: at(60), Problem: "panic: oops"},
		},
	}
}

func TestGolden(t *testing.T) {
	var page bytes.Buffer
	if err := Write(&page, sample()); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "page.golden.html")
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page.Bytes(), want) {
		t.Errorf("the page differs from %s; review it and run go test ./report -update", path)
	}
}

func TestReportEscapesTextAndFetchesNothing(t *testing.T) {
	var page bytes.Buffer
	if err := Write(&page, sample()); err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"http://", "https://", "src=", "@import", "url(", "refused <b>", "<script"} {
		if strings.Contains(page.String(), foreign) {
			t.Errorf("the page contains %q", foreign)
		}
	}
}

func TestChartsSpanScenario(t *testing.T) {
	got := charts(sample().Results[0])
	if len(got) != 1 || len(got[0].Rows) != 3 || len(got[0].Marks) != 2 {
		t.Fatalf("%+v", got)
	}
	if got[0].Rows[0].Type != timeline.Phase || got[0].Rows[1].Type != "Available" {
		t.Errorf("rows %+v", got[0].Rows)
	}
	available := got[0].Rows[1].Spans
	if len(available) != 2 || available[0].Kind != "bad" || available[1].Kind != "yes" {
		t.Fatalf("spans %+v", available)
	}
	// Available from 10 s to 50 s of 60 s, then deleted.
	if x, w := available[1].X, available[1].Width; x < 166 || x > 167 || w < 666 || w > 667 {
		t.Errorf("from %v, %v wide", x, w)
	}
	if charts(sample().Results[2]) != nil {
		t.Error("a scenario without a duration has a chart")
	}
}
