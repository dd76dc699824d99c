// Package benchenv measures the cost of a service on a control plane of its own.
//
// Each [Scenario] of a [Benchmark] prints one figure per line,
//
//	BENCH <name> <value> <unit>
//
// in an environment of its own: a control plane with 30 simulated nodes, in which the operator runs as a process with the
// identity and the permissions of its service account. Its requests are counted in the API server's audit log (package
// audit), its CPU time and memory are read from /proc, and its reconciles from its metrics. A breakdown of the requests goes
// to stderr. All processes and files are removed when the program exits or is killed. A stack can run at the same time.
//
// A benchmark defines the objects, their desired state, and the names of figures; this package does the rest.
package benchenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// WithAggregator is the suffix of scenarios and figures with a running status aggregator.
const WithAggregator = ".with_aggregator"

// Benchmark measures one service.
type Benchmark struct {
	// Subject is the prefix of all figures, such as "superset".
	Subject string
	// Each is the name of one object in figures, such as "cr" in "requests_per_cr".
	Each string
	// Operator is the measured service, and Flags are its flags in addition to those of every service.
	Operator string
	Flags    []string
	// WarmUp lets the services fill their caches and discover the API before the first measurement.
	WarmUp    func(context.Context, *Env) error
	Scenarios []Scenario
}

// Scenario is a series of measurements on a new control plane, or a list of Go benchmarks, which need none.
type Scenario struct {
	Name       string
	Aggregator bool
	// RunLast scenarios start the services themselves.
	RunLast bool
	// OnRequest scenarios run only if they are named.
	OnRequest bool
	Run       func(context.Context, *Env, *Figures) error
	Go        []GoBenchmark
}

// aggregator is the service that writes the conditions in scenarios with Aggregator.
const aggregator = "status-aggregator"

// runner runs the scenarios of a benchmark from a checkout.
type runner struct {
	benchmark Benchmark
	root      string // of the checkout
	dir       string // for all files of the run
	marker    string // set in the environment of every process
	tools     controlplane.Tools
}

// Run runs the named scenarios, or all scenarios without OnRequest if names is empty.
func (b Benchmark) Run(ctx context.Context, names []string) (err error) {
	selected, err := b.choose(names)
	if err != nil {
		return err
	}
	tools, err := controlplane.Find()
	if err != nil {
		return err
	}
	module, err := controlplane.Module()
	if err != nil {
		return err
	}
	// The watchdog kills the processes with the marker and removes the directory when this process exits.
	scratch, err := watchdog.NewDirectory(watchdog.Options{
		Prefix: "flotilla-bench-" + b.Subject + "-", Key: "FLOTILLA_BENCH_" + strings.ToUpper(b.Subject), Container: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, scratch.Release()) }()
	r := runner{benchmark: b, root: filepath.Dir(filepath.Dir(module)), dir: scratch.Path, marker: scratch.Marker, tools: tools}
	if err := r.build(ctx, selected); err != nil {
		return err
	}
	figures := map[string]*Figures{}
	for _, suffix := range []string{"", WithAggregator} {
		figures[suffix] = &Figures{subject: b.Subject, each: b.Each, suffix: suffix}
	}
	for _, s := range selected {
		Note("--- %s", s.Name)
		suffix := ""
		if strings.HasSuffix(s.Name, WithAggregator) {
			suffix = WithAggregator
		}
		if err := r.run(ctx, s, figures[suffix]); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	return nil
}

func (b Benchmark) choose(names []string) ([]Scenario, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(b.Scenarios), func(s Scenario) bool { return s.OnRequest }), nil
	}
	var selected []Scenario
	for _, name := range names {
		i := slices.IndexFunc(b.Scenarios, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown scenario %q of %s", name, b.Subject)
		}
		selected = append(selected, b.Scenarios[i])
	}
	return selected, nil
}

// build builds the services that the scenarios run.
func (r runner) build(ctx context.Context, selected []Scenario) error {
	services := map[string]bool{}
	for _, s := range selected {
		services[r.benchmark.Operator] = services[r.benchmark.Operator] || s.Run != nil
		services[aggregator] = services[aggregator] || s.Aggregator
	}
	for name, needed := range services {
		if !needed {
			continue
		}
		cmd := proc.Go(ctx, r.module(name), "build", "-o", r.binary(name), "./cmd/"+name)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

func (r runner) module(service string) string { return filepath.Join(r.root, "services", service) }
func (r runner) binary(service string) string { return filepath.Join(r.dir, service) }

// run runs a scenario in an environment of its own.
func (r runner) run(ctx context.Context, s Scenario, f *Figures) (err error) {
	for _, b := range s.Go {
		if err := b.run(ctx, r.root, f); err != nil {
			return err
		}
	}
	if s.Run == nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e := &Env{runner: r, dir: filepath.Join(r.dir, s.Name), end: cancel}
	defer func() {
		// An unexpected exit of a process is the cause of later errors.
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		for _, p := range e.processes {
			if err != nil {
				Note("--- end of the log of %s\n%s", p.Log, proc.Tail(p.Log, 40))
			}
			p.stopping.Store(true)
		}
		err = errors.Join(err, e.stop(context.WithoutCancel(ctx)))
		cancel(nil)
	}()
	if err := e.start(ctx, s); err != nil {
		return err
	}
	return s.Run(ctx, e, f)
}

// Note prints a line of progress.
func Note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
