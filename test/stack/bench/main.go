// Command bench prints what Flotilla costs, one figure a line:
//
//	BENCH <name> <value> <unit>
//
// Usage: bench SUBJECT [name=number...] [scenario...]. Without scenarios all of the subject are run, except create and fleet.
// How they are measured is described by package benchenv.
//
//	stack      on a stack of its own that make up starts: controlplane (from nothing to a cluster that answers), supersets,
//	           engines (10 of them until they run), models (1,000 into MySQL, and raw inserts of rows of that size)
//	superset   what the Superset operator costs: create (50 Supersets, then their Deployments without the operator), small
//	           (with 50 more for a minute of idleness in between), large (500), the last two again with .with_aggregator, and
//	           fleet (fleet=1000 of them, a restart of the operator, and edits of one meanwhile)
//	engine     what the engine operator costs: compute (one decision), and as above with a new image for each
//	ingester   what the ingester costs; unless said otherwise the schema is there before it starts, the objects are Models
//	           with 3 labels and 2 annotations, and the clock runs from the ingester's exec to the last commit:
//	             sync             objects with the finalizer; then a restart that changes nothing; then the same rows by
//	                              raw inserts, in the order of their uids and as the API server lists them
//	             sync_adopt       objects without the finalizer
//	             sync_one_worker  objects with the finalizer, one reconcile at a time
//	             sync_bus         objects with the finalizer and change events on: what the outbox costs
//	             update           one patch after another: from the patch to the commit
//	             list             lists of the storage interface with label selectors, over 100,000 rows
//	             memory           the ingester's memory with many objects
//	             compute          one object from its JSON to a record, without anything around it
//	           BENCH_DATABASE=mysql or mariadb selects the server.
//	           numbers: objects=10000 for the sync scenarios, one=2000 for sync_one_worker, updates=500, cached=100000 for
//	           memory
//	status     what conditions cost from operator to resource: offer (one call of the publisher), latency, load; the files
//	           status_*.go describe them. BENCH_STATUS_OBJECTS is how many resources there are in latency (1,000 if it is
//	           not set); load has ten times as many
package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/test/stack/bench/status"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

// subjects run the scenarios of these names.
var subjects = map[string]func(ctx context.Context, scenarios []string) error{
	"stack":    runStack,
	"superset": superset.Run,
	"engine":   engine.Run,
	"ingester": ingester.Run,
	"status":   aggregator.Run,
}

var superset = benchenv.Benchmark{
	Subject: "superset", Each: "cr", Operator: "superset-operator",
	WarmUp: warmUpSupersets, Scenarios: supersets.scenarios(),
}

var engine = benchenv.Benchmark{
	Subject: "engine", Each: "engine", Operator: "engine-operator",
	// What admission costs is the API server's time, and no request of the operator.
	Flags:  []string{"--enable-webhooks=false"},
	WarmUp: warmUpEngines,
	Scenarios: append([]benchenv.Scenario{{Name: "compute", Go: []benchenv.GoBenchmark{{
		Module: "services/engine-operator", Package: "./internal/engine", Name: "Decide", Time: "2s",
		Unit: "ns/op", Figure: "compute.ns_per_op", FigureUnit: "ns",
	}}}}, engines.scenarios()...),
}

var ingester = benchenv.Benchmark{
	Subject: "ingester", Each: "object", Operator: "ingester",
	Scenarios: []benchenv.Scenario{
		{Name: "compute", Go: []benchenv.GoBenchmark{{
			Module: "services/ingester", Package: "./internal/record", Name: "Build", Time: "2s",
			Unit: "ns/op", Figure: "compute.ns_per_object", FigureUnit: "ns",
		}}},
		{Name: "sync", Late: true, Run: syncRun{name: "sync", size: "objects", then: resyncAndRaw}.run},
		{Name: "sync_adopt", Late: true, Run: syncRun{name: "sync_adopt", size: "objects", adopt: true}.run},
		{Name: "sync_one_worker", Late: true, Run: syncRun{
			name: "sync_one_worker", size: "one", flags: []string{"--concurrent-reconciles=1"},
		}.run},
		{Name: "sync_bus", Late: true, Run: syncRun{name: "sync_bus", size: "objects", bus: true}.run},
		{Name: "update", Late: true, Run: update},
		// The newest hundred of the objects that two labels select, one in a hundred of 100,000 rows, and of those that two
		// fields select, a quarter of the rows.
		{Name: "list", Go: []benchenv.GoBenchmark{
			{
				Module: "services/ingester", Package: "./storage/mysql", Name: "ListByLabels", Time: "500x",
				Unit: "p99-ms", Figure: "list.p99_ms", FigureUnit: "ms",
			},
			{
				Module: "services/ingester", Package: "./storage/mysql", Name: "ListByFields", Time: "500x",
				Unit: "p99-ms", Figure: "list_by_fields.p99_ms", FigureUnit: "ms",
			},
		}},
		{Name: "memory", Late: true, Run: memory},
	},
}

var aggregator = benchenv.Benchmark{
	Subject: "status", Each: "object", Operator: "superset-operator",
	Scenarios: []benchenv.Scenario{
		// The costs of publishing in an operator, and of an observation without changes; without a server.
		{Name: "offer", Go: []benchenv.GoBenchmark{
			{Module: "libs/bus", Package: ".", Name: "Offer", Time: "2s", Unit: "ns/op", Figure: "offer.ns", FigureUnit: "ns"},
			{
				Module: "libs/bus", Package: ".", Name: "OfferObservation", Time: "2s",
				Unit: "ns/op", Figure: "offer.unchanged_ns", FigureUnit: "ns",
			},
		}},
		{Name: "latency", Late: true, Aggregator: true, Run: status.Latency},
		{Name: "load", Late: true, Aggregator: true, Run: status.Load},
	},
}

// sizes of the scenarios that have one. The names of other sizes are in the names of their figures.
var sizes = map[string]int{"fleet": 1000, "objects": 10000, "one": 2000, "updates": 500, "cached": 100000}

func main() {
	log.SetLogger(logr.Discard()) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	subject, scenarios, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	err = subjects[subject](ctx, scenarios)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", subject, err)
		os.Exit(1)
	}
}

// parse reads the command line, and the numbers into sizes.
func parse(args []string) (subject string, scenarios []string, err error) {
	if len(args) == 0 || subjects[args[0]] == nil {
		return "", nil, fmt.Errorf("name one of %s", strings.Join(slices.Sorted(maps.Keys(subjects)), ", "))
	}
	for _, arg := range args[1:] {
		name, value, isSize := strings.Cut(arg, "=")
		if !isSize {
			scenarios = append(scenarios, arg)
			continue
		}
		n, err := strconv.Atoi(value)
		if _, known := sizes[name]; !known || err != nil || n < 1 {
			return "", nil, fmt.Errorf("got %q, want one of the sizes %v with a number", arg, sizes)
		}
		sizes[name] = n
	}
	return args[0], scenarios, nil
}
