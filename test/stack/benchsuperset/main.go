// Command benchsuperset prints what the Superset operator costs, one figure a line:
//
//	BENCH <name> <value> <unit>
//
// How it is measured stands in package benchlab.
//
// Usage: benchsuperset [scenario...] with scenarios from small, large, small.with_aggregator, large.with_aggregator;
// none means all. The small ones create 50 Supersets, then 50 more for a minute of idleness; the large ones create 500.
package main

import (
	"os"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

var bench = benchlab.Bench{
	Subject: "superset", Each: "cr",
	Operator: benchlab.Service{Name: "superset-operator"},
	WarmUp:   warmUp,
	Scenarios: []benchlab.Scenario{
		{Name: "small", Run: small},
		{Name: "large", Run: large},
		{Name: "small" + benchlab.WithAggregator, Aggregator: true, Run: small},
		{Name: "large" + benchlab.WithAggregator, Aggregator: true, Run: large},
	},
}

func main() { os.Exit(bench.Main(os.Args[1:])) }
