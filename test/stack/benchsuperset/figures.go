package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

// cost is what happened in the operator's process and at the API server during a measurement.
type cost struct {
	counters
	objects    int
	seconds    float64 // until the last object had arrived
	requests   audit.Counts
	aggregator audit.Counts // requests of the aggregator, if one runs
}

// counters only ever grow.
type counters struct {
	cpuSeconds   float64 // of the operator
	controlPlane float64 // CPU seconds of the control plane with its simulated nodes
	reconciles   float64
}

func (c counters) minus(before counters) counters {
	return counters{
		cpuSeconds:   c.cpuSeconds - before.cpuSeconds,
		controlPlane: c.controlPlane - before.controlPlane,
		reconciles:   c.reconciles - before.reconciles,
	}
}

// figures prints the figures of the scenarios that belong together.
type figures struct {
	suffix string
	before *cost // of the first scenario that created objects
}

// report prints one figure.
func (f *figures) report(name string, value float64, unit string) {
	fmt.Printf("BENCH %s%s %s %s\n", name, f.suffix, number(value), unit)
}

// number has four significant digits and no exponent.
func number(value float64) string {
	if value >= 1000 || value == 0 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}

// created prints what it cost to bring new Supersets to Running, and how the cost of each has changed since fewer of
// them were created.
func (f *figures) created(n int, c *cost) {
	name, each := fmt.Sprintf("superset.create%d.", n), float64(c.objects)
	f.report(name+"seconds", c.seconds, "s")
	f.report(name+"api_requests_per_cr", float64(c.requests.Requests)/each, "requests")
	f.report(name+"conflicts", float64(c.requests.Conflicts), "requests")
	f.report(name+"reconciles_per_cr", c.reconciles/each, "reconciles")
	f.report(name+"cpu_seconds_per_cr", c.cpuSeconds/each, "s")
	f.report(name+"control_plane_cpu_seconds_per_cr", c.controlPlane/each, "s")
	note("all requests of %s%s: %s", strings.TrimSuffix(name, "."), f.suffix, c.requests)
	if f.suffix != "" {
		f.report(name+"aggregator_requests_per_cr", float64(c.aggregator.Requests)/each, "requests")
		note("all requests of the aggregator, %s%s: %s", strings.TrimSuffix(name, "."), f.suffix, c.aggregator)
	}
	if f.before == nil {
		f.before = c
		return
	}
	name = fmt.Sprintf("superset.create%d_over_%d.", n, f.before.objects)
	// The cost of one object: 1 is constant.
	ratio := func(now, before float64) float64 { return now / each / (before / float64(f.before.objects)) }
	f.report(name+"api_requests", ratio(float64(c.requests.Requests), float64(f.before.requests.Requests)), "ratio")
	f.report(name+"reconciles", ratio(c.reconciles, f.before.reconciles), "ratio")
	f.report(name+"cpu_seconds", ratio(c.cpuSeconds, f.before.cpuSeconds), "ratio")
}

// idle prints what Supersets cost in a minute without a change.
func (f *figures) idle(n int, c *cost) {
	name := fmt.Sprintf("superset.idle%d.", n)
	f.report(name+"writes_per_minute", float64(c.requests.Writes), "requests")
	f.report(name+"requests_per_minute", float64(c.requests.Requests), "requests")
	f.report(name+"reconciles_per_minute", c.reconciles, "reconciles")
	f.report(name+"cpu_seconds_per_minute", c.cpuSeconds, "s")
	note("all requests of %s%s: %s", strings.TrimSuffix(name, "."), f.suffix, c.requests)
	if f.suffix != "" {
		f.report(name+"aggregator_writes_per_minute", float64(c.aggregator.Writes), "requests")
		note("all requests of the aggregator, %s%s: %s", strings.TrimSuffix(name, "."), f.suffix, c.aggregator)
	}
}
