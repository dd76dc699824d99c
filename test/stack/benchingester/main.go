// Command benchingester prints what the ingester costs, one figure a line:
//
//	BENCH <name> <value> <unit>
//
// It runs the ingester as a process with its service account's permissions, against a control plane and a MySQL or
// MariaDB server of its own; see packages benchlab and mysqlserver. Unless said otherwise the schema is there before the
// ingester starts, the objects are Models with 3 labels and 2 annotations, and the clock runs from the ingester's exec to
// the last commit.
//
// Usage: benchingester [name=number...] [scenario...]. Scenarios, all of them if none is named:
//
//	sync             objects with the finalizer; then the same rows by raw inserts; then a restart that changes nothing
//	sync_adopt       objects without the finalizer
//	sync_one_worker  objects with the finalizer, one reconcile at a time
//	sync_bus         objects with the finalizer and change events on: what the outbox costs
//	update           one patch after another: from the patch to the commit
//	list             lists of the storage interface with label selectors, over 100,000 rows
//	memory           the ingester's memory with many objects
//	compute          one object from its JSON to a record, without anything around it
//
// Numbers: objects=10000 for the sync scenarios, one=2000 for sync_one_worker, updates=500, cached=100000 for memory.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

var bench = benchlab.Bench{
	Subject: "ingester", Each: "object",
	Operator: benchlab.Service{Name: "ingester"},
	Scenarios: []benchlab.Scenario{
		{Name: "compute", Bare: true, Run: compute},
		{Name: "sync", Late: true, Run: syncObjects},
		{Name: "sync_adopt", Late: true, Run: adoptObjects},
		{Name: "sync_one_worker", Late: true, Run: oneWorker},
		{Name: "sync_bus", Late: true, Run: withBus},
		{Name: "update", Late: true, Run: update},
		{Name: "list", Bare: true, Run: list},
		{Name: "memory", Late: true, Run: memory},
	},
}

// sizes of the scenarios. The names of other sizes are in the names of their figures.
var sizes = map[string]int{"objects": 10000, "one": 2000, "updates": 500, "cached": 100000}

func main() {
	var scenarios []string
	for _, arg := range os.Args[1:] {
		name, value, isSize := strings.Cut(arg, "=")
		if !isSize {
			scenarios = append(scenarios, arg)
			continue
		}
		n, err := strconv.Atoi(value)
		if _, known := sizes[name]; !known || err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "benchingester: %q is none of the sizes %v with a number\n", arg, sizes)
			os.Exit(2)
		}
		sizes[name] = n
	}
	os.Exit(bench.Main(scenarios))
}
