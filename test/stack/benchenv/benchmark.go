package benchlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// WithAggregator ends the names of scenarios and figures in which the status aggregator takes part.
const WithAggregator = ".with_aggregator"

// Bench is a program that measures an operator.
type Bench struct {
	// Subject is what the operator looks after, such as "superset". All figures begin with it.
	Subject string
	// Each is what figures call one of them, as in "requests_per_cr".
	Each string
	// Operator is the service that is measured.
	Operator Service
	// WarmUp lets the services fill their caches and learn the API before anything is measured.
	WarmUp    func(context.Context, *Lab) error
	Scenarios []Scenario
}

// Service is one of the services of this repository.
type Service struct {
	Name string
	// Flags are given to it besides those that every service of a lab gets.
	Flags []string
}

// aggregator is the service that writes the conditions where it takes part.
var aggregator = Service{Name: "status-aggregator"}

// Scenario is one life of a control plane and what is measured in it.
type Scenario struct {
	Name       string
	Aggregator bool
	// Late scenarios start the operator themselves.
	Late bool
	// Bare scenarios need no control plane; their Lab runs nothing but Go.
	Bare bool
	Run  func(context.Context, *Lab, *Figures) error
}

// Main runs the scenarios that the arguments name, all of them if none does, and returns the program's exit code.
func (b Bench) Main(names []string) int {
	if err := b.run(names); err != nil {
		fmt.Fprintln(os.Stderr, "bench"+b.Subject+":", err)
		return 1
	}
	return 0
}

func (b Bench) run(names []string) (err error) {
	log.SetLogger(logr.Discard()) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
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
	dir, err := os.MkdirTemp("", "flotilla-bench-"+b.Subject+"-")
	if err != nil {
		return err
	}
	// What carries the marker is killed and the folder removed as soon as this process is gone.
	marker := watchdog.Marker("FLOTILLA_BENCH_"+strings.ToUpper(b.Subject), dir)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: dir})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, guard.Release()) }()
	made := &builder{bench: b, root: filepath.Dir(filepath.Dir(module)), dir: dir, marker: marker, tools: tools}
	if err := made.build(ctx, chosen); err != nil {
		return err
	}
	all := map[bool]*Figures{}
	for with, suffix := range map[bool]string{false: "", true: WithAggregator} {
		all[with] = &Figures{subject: b.Subject, each: b.Each, suffix: suffix}
	}
	for _, s := range chosen {
		if err := made.within(ctx, s, all[s.Aggregator]); err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
	}
	return nil
}

func (b Bench) choose(names []string) ([]Scenario, error) {
	if len(names) == 0 {
		return b.Scenarios, nil
	}
	var chosen []Scenario
	for _, name := range names {
		i := slices.IndexFunc(b.Scenarios, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q", name)
		}
		chosen = append(chosen, b.Scenarios[i])
	}
	return chosen, nil
}

// Note tells a person what is going on.
func Note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}
