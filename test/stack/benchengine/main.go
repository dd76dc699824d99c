// Command benchengine prints what the engine operator costs, one figure a line:
//
//	BENCH <name> <value> <unit>
//
// How it is measured stands in package benchlab.
//
// Usage: benchengine [scenario...] with scenarios from compute, small, large, small.with_aggregator,
// large.with_aggregator; none means all. Compute times the decision alone. The small ones create 50 engines, change their
// image, and create 50 more for a minute of idleness; the large ones create 500.
package main

import (
	"os"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

var bench = benchlab.Bench{
	Subject: "engine", Each: "engine",
	Operator: benchlab.Service{
		Name: "engine-operator",
		// What admission costs is the API server's time, and no request of the operator.
		Flags: []string{"--enable-webhooks=false"},
	},
	WarmUp: warmUp,
	Scenarios: []benchlab.Scenario{
		{Name: "compute", Bare: true, Run: compute},
		{Name: "small", Run: small},
		{Name: "large", Run: large},
		{Name: "small" + benchlab.WithAggregator, Aggregator: true, Run: small},
		{Name: "large" + benchlab.WithAggregator, Aggregator: true, Run: large},
	},
}

func main() { os.Exit(bench.Main(os.Args[1:])) }
