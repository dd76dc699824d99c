// Package benchenv measures what a service costs, on a control plane of its own.
//
// Each [Scenario] of a [Benchmark] prints one figure a line,
//
//	BENCH <name> <value> <unit>
//
// in an environment of its own: a control plane with 30 simulated nodes, in which the operator runs as a process with the
// identity and the permissions of its service account. Its requests are counted by the API server's audit log (package
// audit), its processor time and memory come from /proc, its reconciles from its metrics. A breakdown of the requests goes
// to stderr. Nothing is left behind, however the program ends, and it shares nothing with a stack that runs at the same time.
//
// A benchmark defines what is created, when it has arrived, and how a figure is called; everything else is here.
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

// WithAggregator ends the names of scenarios and figures in which the status aggregator takes part.
const WithAggregator = ".with_aggregator"

// Benchmark measures one service.
type Benchmark struct {
	// Subject begins all figures, such as "superset".
	Subject string
	// Each is what figures call one of the objects, as in "requests_per_cr".
	Each string
	// Operator is the service that is measured, Flags are given to it besides those that every service gets.
	Operator string
	Flags    []string
	// WarmUp lets the services fill their caches and learn the API before anything is measured.
	WarmUp    func(context.Context, *Env) error
	Scenarios []Scenario
}

// Scenario is one life of a control plane and what is measured in it, or Go benchmarks, which need none.
type Scenario struct {
	Name       string
	Aggregator bool
	// Late scenarios start the services themselves.
	Late bool
	// OnRequest scenarios run only when they are named.
	OnRequest bool
	Run       func(context.Context, *Env, *Figures) error
	Go        []GoBenchmark
}

// aggregator is the service that writes the conditions where it takes part.
const aggregator = "status-aggregator"

// runner runs the scenarios of a benchmark out of a checkout.
type runner struct {
	benchmark Benchmark
	root      string // of the checkout
	dir       string // for everything that is written
	marker    string // set in the environment of every process
	tools     controlplane.Tools
}

// Run runs the scenarios of these names; without names all that do not run on request only.
func (b Benchmark) Run(ctx context.Context, names []string) (err error) {
	chosen, err := b.choose(names)
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
	// Processes with the marker are killed and the directory is removed as soon as this process has ended.
	folder, err := watchdog.NewDirectory(watchdog.Need{
		Prefix: "flotilla-bench-" + b.Subject + "-", Key: "FLOTILLA_BENCH_" + strings.ToUpper(b.Subject), Container: true,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Release()) }()
	r := runner{benchmark: b, root: filepath.Dir(filepath.Dir(module)), dir: folder.Path, marker: folder.Marker, tools: tools}
	if err := r.build(ctx, chosen); err != nil {
		return err
	}
	figures := map[string]*Figures{}
	for _, suffix := range []string{"", WithAggregator} {
		figures[suffix] = &Figures{subject: b.Subject, each: b.Each, suffix: suffix}
	}
	for _, s := range chosen {
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
	var chosen []Scenario
	for _, name := range names {
		i := slices.IndexFunc(b.Scenarios, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q of %s", name, b.Subject)
		}
		chosen = append(chosen, b.Scenarios[i])
	}
	return chosen, nil
}

// build compiles the services that the scenarios run.
func (r runner) build(ctx context.Context, chosen []Scenario) error {
	services := map[string]bool{}
	for _, s := range chosen {
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
		// A program that ended by itself is the reason for all that failed after it.
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		for _, p := range e.processes {
			if err != nil {
				Note("--- end of the log of %s\n%s", p.Log, proc.Tail(p.Log, 40))
			}
			p.dismissed.Store(true)
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
