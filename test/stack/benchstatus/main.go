// Command benchstatus prints what conditions cost, from the operators to the resources, one figure a line:
//
//	BENCH <name> <value> <unit>
//
// Usage: benchstatus [scenario...] with scenarios from offer, latency, load; none means all. BENCH_STATUS_OBJECTS is how
// many resources there are in latency (1,000 if it is not set); load has ten times as many.
//
// Offer times one call of Publisher.Offer in the operator (status.offer.ns) and one of Observations.Offer that brings
// nothing new (status.offer.unchanged_ns), without a server.
//
// Latency runs the real Superset operator, the real aggregator and NATS on a control plane whose pods are simulated, with
// one Deployment and one pod for each Superset. It makes pods unready and ready again, twenty a second, and reads one
// watch of Deployments and one of Supersets: the time runs from the moment at which the Deployment's status is seen to
// have lost (or got back) its available replica to the moment at which Available is seen to have changed on the Superset.
// In it lie the operator's watch and reconcile, the bus, the fold, the aggregator's gathering of changes (at most 250 ms)
// and the write of the condition. Before that all rest for a minute (status.idle.writes_per_minute: writes of both services).
//
// Load has no operator: the program observes, with the operators' own client of the bus, resources that nobody
// reconciles. It measures how many changed observations a second the aggregator takes while it also folds and writes
// (status.observations_per_s), its live heap for each resource (status.heap_kib_per_object, from the target of the
// garbage collector before there was any resource and after). Then it stops the aggregator in good order and starts it
// again with everything in place: status.rebuild10k.seconds runs from the start of the process until it has read the last
// word on every resource and holds the Lease, status.rebuild10k.confirmed_seconds until it has gone through every
// resource again, for which it waits for the next heartbeat (up to 10 s) and listens for 5 s. In the end it wipes the bus:
// status.rebuild10k.after_wipe_seconds runs from the first deletion until every resource has its entry again; an observer
// notices within 15 s.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

var bench = benchlab.Bench{
	Subject: "status", Each: "object",
	Operator: benchlab.Service{Name: "superset-operator"},
	Scenarios: []benchlab.Scenario{
		{Name: "offer", Bare: true, Run: offer},
		{Name: "latency", Late: true, Aggregator: true, Run: latency},
		{Name: "load", Late: true, Aggregator: true, Run: load},
	},
}

func main() { os.Exit(bench.Main(os.Args[1:])) }

// sizeVariable names the environment variable that makes the bench smaller or larger.
const sizeVariable = "BENCH_STATUS_OBJECTS"

func size() (int, error) {
	text := os.Getenv(sizeVariable)
	if text == "" {
		return 1000, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s: %q is no number of objects", sizeVariable, text)
	}
	return n, nil
}
