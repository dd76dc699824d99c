package benchenv

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/test/stack/audit"
)

// Cost is the result of a measurement: the resources that the processes used, and the requests to the API server.
type Cost struct {
	Counters
	Objects    int
	Seconds    float64 // until the last object reached its desired state
	Requests   audit.Counts
	Aggregator audit.Counts // requests of the aggregator, if one runs
}

// Counters are values that only increase.
type Counters struct {
	CPUSeconds   float64            // of the operator
	ControlPlane map[string]float64 // CPU seconds by process: API server, etcd, scheduler, controller manager, simulated nodes
	EtcdBytes    float64            // written to disk by etcd
	ReadBytes    float64            // by the operator, almost all from the API server
	Reconciles   float64
}

func (c Counters) minus(before Counters) Counters {
	out := Counters{
		CPUSeconds:   c.CPUSeconds - before.CPUSeconds,
		ControlPlane: map[string]float64{},
		EtcdBytes:    c.EtcdBytes - before.EtcdBytes,
		ReadBytes:    c.ReadBytes - before.ReadBytes,
		Reconciles:   c.Reconciles - before.Reconciles,
	}
	for process, seconds := range c.ControlPlane {
		out.ControlPlane[process] = seconds - before.ControlPlane[process]
	}
	return out
}

// Figures prints the figures of related scenarios.
type Figures struct {
	subject, each, suffix string
	before                *Cost // cost of the first scenario that created objects
}

// Report prints one figure. The subject is the prefix of its name.
func (f *Figures) Report(name string, value float64, unit string) {
	fmt.Printf("BENCH %s.%s%s %s %s\n", f.subject, name, f.suffix, number(value), unit)
}

// number formats a value with four significant digits and without an exponent.
func number(value float64) string {
	if value >= 1000 || value == 0 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 4, 64)
}

// Created prints the cost of creating n objects. From the second call on, it also prints the ratio of the cost per object to
// that of the first call.
func (f *Figures) Created(n int, c *Cost) {
	f.Work(fmt.Sprintf("create%d", n), c)
	if f.before == nil {
		f.before = c
		return
	}
	name := fmt.Sprintf("create%d_over_%d.", n, f.before.Objects)
	// The cost of one object: 1 is constant.
	ratio := func(now, before float64) float64 {
		return now / float64(c.Objects) / (before / float64(f.before.Objects))
	}
	f.Report(name+"api_requests", ratio(float64(c.Requests.Requests), float64(f.before.Requests.Requests)), "ratio")
	f.Report(name+"reconciles", ratio(c.Reconciles, f.before.Reconciles), "ratio")
	f.Report(name+"cpu_seconds", ratio(c.CPUSeconds, f.before.CPUSeconds), "ratio")
}

// Work prints the cost of a change of objects until all reached their desired state.
func (f *Figures) Work(name string, c *Cost) {
	each := float64(c.Objects)
	f.Report(name+".seconds", c.Seconds, "s")
	f.Report(name+".api_requests_per_"+f.each, float64(c.Requests.Requests)/each, "requests")
	f.Report(name+".conflicts", float64(c.Requests.Conflicts), "requests")
	f.Report(name+".reconciles_per_"+f.each, c.Reconciles/each, "reconciles")
	f.Report(name+".cpu_seconds_per_"+f.each, c.CPUSeconds/each, "s")
	f.Report(name+".kilobytes_received_per_"+f.each, c.ReadBytes/each/1000, "kB")
	f.controlPlane(name+".", each, c.Counters)
	Note("all requests of %s.%s%s: %s", f.subject, name, f.suffix, c.Requests)
	if f.suffix != "" {
		f.Report(name+".aggregator_requests_per_"+f.each, float64(c.Aggregator.Requests)/each, "requests")
		Note("all requests of the aggregator, %s.%s%s: %s", f.subject, name, f.suffix, c.Aggregator)
	}
}

// Idle prints the cost of n objects in a minute without changes.
func (f *Figures) Idle(n int, c *Cost) {
	name := fmt.Sprintf("idle%d", n)
	f.Report(name+".writes_per_minute", float64(c.Requests.Writes), "requests")
	f.Report(name+".requests_per_minute", float64(c.Requests.Requests), "requests")
	f.Report(name+".reconciles_per_minute", c.Reconciles, "reconciles")
	f.Report(name+".cpu_seconds_per_minute", c.CPUSeconds, "s")
	Note("all requests of %s.%s%s: %s", f.subject, name, f.suffix, c.Requests)
	if f.suffix != "" {
		f.Report(name+".aggregator_writes_per_minute", float64(c.Aggregator.Writes), "requests")
		Note("all requests of the aggregator, %s.%s%s: %s", f.subject, name, f.suffix, c.Aggregator)
	}
}

// Raw prints the cost of Kubernetes alone, under a name such as "create50.raw_deployments".
func (f *Figures) Raw(name string, c *Cost) {
	f.Report(name+"_seconds", c.Seconds, "s")
	f.controlPlane(name+"_", float64(c.Objects), c.Counters)
}

// controlPlane prints the CPU seconds of the control plane, in total and by process, and the bytes that etcd wrote.
func (f *Figures) controlPlane(prefix string, each float64, c Counters) {
	f.Report(prefix+"control_plane_cpu_seconds_per_"+f.each, sum(c.ControlPlane)/each, "s")
	for _, process := range slices.Sorted(maps.Keys(c.ControlPlane)) {
		f.Report(prefix+strings.ReplaceAll(process, "-", "_")+"_cpu_seconds_per_"+f.each, c.ControlPlane[process]/each, "s")
	}
	f.Report(prefix+"etcd_kilobytes_written_per_"+f.each, c.EtcdBytes/each/1000, "kB")
}

// Percentile sorts the durations and returns the percentile for this share, in milliseconds, or NaN without durations.
func Percentile(spent []time.Duration, share float64) float64 {
	if len(spent) == 0 {
		return math.NaN()
	}
	slices.Sort(spent)
	return spent[min(len(spent)-1, int(share*float64(len(spent))))].Seconds() * 1000
}

// Thousands formats 10000 as 10k.
func Thousands(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}
