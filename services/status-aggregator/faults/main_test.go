package faults

import (
	"flag"
	"os"
	"testing"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/faults/bar"
)

// measuredElsewhere lists where bars are measured that no test of this package measures.
var measuredElsewhere = map[string]string{
	"B1":  "go test ./faults -run TestSimulation",
	"B2":  "go test ./faults -run TestSimulation",
	"B3":  "go test -bench . ./libs/bus; make bench-status",
	"B4":  "go test -tags long ./internal/app -run TestThreeServersLoseMajority",
	"B5":  "go test ./internal/app -run TestDuplicatesAndReorderingAreHarmless",
	"B6":  "make bench-status",
	"B7":  "go test -tags long ./internal/app -run TestThreeServersLoseMajority",
	"B8":  "go test ./faults -run TestOperatorFailuresDuringSimulatedDay",
	"B9":  "go test ./libs/conditions",
	"B10": "go test ./libs/conditions",
	"B11": "go test ./test/stack",
	"B12": "go test ./test/events",
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if testing.Verbose() {
		bars := []string{"B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "B9", "B10", "B11", "B12"}
		if err := bar.PrintMissing(os.Stdout, bars, measuredElsewhere); err != nil {
			code = 1
		}
	}
	os.Exit(code)
}

func printBar(t testing.TB, name string, value float64, unit, limit string) {
	t.Helper()
	if err := bar.Print(os.Stdout, name, value, unit, limit); err != nil {
		t.Error(err)
	}
}
