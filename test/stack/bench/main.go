// Command bench measures the performance of Flotilla, and prints one figure per line:
//
//	BENCH <name> <value> <unit>
//
// Usage: bench SUBJECT [name=number...] [scenario...]. Without scenarios it runs all of the subject, except create and fleet.
// Package benchenv describes the environment and the measurements.
//
//	superset   the Superset operator: create (50 Supersets, then their Deployments without the operator), small (the same,
//	           and a minute without changes with 50 more), large (500), the last two also with .with_aggregator, and fleet
//	           (fleet=1000 Supersets and a restart of the operator, with concurrent edits of another one)
//	engine     the engine operator: compute (one decision), and the scenarios above with a rollout of a new image,
//	           in fleet of rolled=1000 engines or all
//	ingester   the ingester. By default the schema exists before it starts, the objects are Models with 3 labels and 2
//	           annotations, and the time runs from the ingester's exec to the last commit:
//	             sync             objects with the finalizer; then a restart without changes; then raw inserts of the same
//	                              rows, in the order of their UIDs and in the order of the API server's lists
//	             sync_adopt       objects without the finalizer
//	             sync_one_worker  objects with the finalizer, one reconcile at a time
//	             sync_bus         objects with the finalizer and with change events, to measure the outbox
//	             update           consecutive patches, each from the patch to the commit
//	             list             lists of the storage interface with label selectors, over 100,000 rows
//	             memory           resident memory of the ingester with many objects
//	             compute          the conversion of one object from JSON to a record
//	           BENCH_DATABASE=mysql or mariadb selects the server.
//	           numbers: objects=10000 for the sync scenarios, one=2000 for sync_one_worker, updates=500, cached=100000 for
//	           memory
//	status     the conditions, from operator to resource: offer (one call of the publisher), latency and load, which
//	           package status describes; numbers: resources=1000 in latency, and ten times as many in load
package main

import (
	"context"
	"fmt"
	"maps"
	"math"
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

var subjects = map[string]benchenv.Benchmark{"superset": superset, "engine": engine, "ingester": ingester, "status": aggregator}

var superset = benchenv.Benchmark{
	Subject: "superset", Each: "cr", Operator: "superset-operator",
	WarmUp: warmUpSupersets, Scenarios: supersets.scenarios(),
}

var engine = benchenv.Benchmark{
	Subject: "engine", Each: "engine", Operator: "engine-operator",
	// Admission costs time in the API server, but no requests of the operator.
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
		{Name: "sync", RunLast: true, Run: syncRun{name: "sync", size: "objects", then: resyncAndRaw}.run},
		{Name: "sync_adopt", RunLast: true, Run: syncRun{name: "sync_adopt", size: "objects", adopt: true}.run},
		{Name: "sync_one_worker", RunLast: true, Run: syncRun{
			name: "sync_one_worker", size: "one", flags: []string{"--concurrent-reconciles=1"},
		}.run},
		{Name: "sync_bus", RunLast: true, Run: syncRun{name: "sync_bus", size: "objects", bus: true}.run},
		{Name: "update", RunLast: true, Run: update},
		// Each list returns the newest 100 matches in 100,000 rows. The two labels match one in a hundred rows, the two fields
		// one in four.
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
		{Name: "memory", RunLast: true, Run: measureMemory},
	},
}

var aggregator = benchenv.Benchmark{
	Subject: "status", Each: "object", Operator: "superset-operator",
	Scenarios: []benchenv.Scenario{
		// The cost of publishing in an operator, with and without a change of the observation; no server runs.
		{Name: "offer", Go: []benchenv.GoBenchmark{
			{Module: "libs/bus", Package: ".", Name: "Enqueue", Time: "2s", Unit: "ns/op", Figure: "offer.ns", FigureUnit: "ns"},
			{
				Module: "libs/bus", Package: ".", Name: "PublishObservation", Time: "2s",
				Unit: "ns/op", Figure: "offer.unchanged_ns", FigureUnit: "ns",
			},
		}},
		{Name: "latency", RunLast: true, Aggregator: true, Run: sized(status.Latency).run},
		{Name: "load", RunLast: true, Aggregator: true, Run: sized(status.Load).run},
	},
}

// sized is a scenario of the size resources.
type sized func(context.Context, *benchenv.Env, int, *benchenv.Figures) error

func (s sized) run(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	return s(ctx, e, sizes["resources"], f)
}

// sizes are the numbers of objects that the command line can set. Fixed sizes are part of the names of their figures.
var sizes = map[string]int{
	"fleet": 1000, "rolled": math.MaxInt, "objects": 10000, "one": 2000, "updates": 500, "cached": 100000, "resources": 1000,
}

func main() {
	log.SetLogger(logr.Discard()) // failures are returned as errors
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	subject, scenarios, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	err = subjects[subject].Run(ctx, scenarios)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", subject, err)
		os.Exit(1)
	}
}

// parse parses the command line, and sets sizes.
func parse(args []string) (subject string, scenarios []string, err error) {
	if len(args) == 0 || subjects[args[0]].Subject == "" {
		return "", nil, fmt.Errorf("missing or unknown subject, want one of %s", strings.Join(slices.Sorted(maps.Keys(subjects)), ", "))
	}
	for _, arg := range args[1:] {
		name, value, isSize := strings.Cut(arg, "=")
		if !isSize {
			scenarios = append(scenarios, arg)
			continue
		}
		n, err := strconv.Atoi(value)
		if _, known := sizes[name]; !known || err != nil || n < 1 {
			return "", nil, fmt.Errorf("got %q, want NAME=NUMBER with one of the sizes %v", arg, sizes)
		}
		sizes[name] = n
	}
	return args[0], scenarios, nil
}
