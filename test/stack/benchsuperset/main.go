// Command benchsuperset prints what the Superset operator costs, one figure a line:
//
//	BENCH <name> <value> <unit>
//
// Each scenario starts a control plane with 30 simulated nodes and runs the operator there as a process with the
// identity and the permissions of its service account. What it asks is counted by the API server's audit log. A
// breakdown of the requests goes to stderr.
//
// Usage: benchsuperset [scenario...] with scenarios from small, large, small.with_aggregator, large.with_aggregator;
// none means all. The small ones create 50 Supersets, then 50 more for a minute of idleness; the large ones create 500.
//
// Nothing is left behind, however the program ends, and it shares nothing with a stack that runs beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// scenario is one life of a control plane and what is measured in it.
type scenario struct {
	name       string
	aggregator bool
	run        func(context.Context, *lab, *figures) error
}

const withAggregator = ".with_aggregator"

var scenarios = []scenario{
	{"small", false, small},
	{"large", false, large},
	{"small" + withAggregator, true, small},
	{"large" + withAggregator, true, large},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchsuperset:", err)
		os.Exit(1)
	}
}

func run(names []string) (err error) {
	log.SetLogger(logr.Discard()) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	chosen, err := choose(names)
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
	dir, err := os.MkdirTemp("", "flotilla-bench-superset-")
	if err != nil {
		return err
	}
	// What carries the marker is killed and the folder removed as soon as this process is gone.
	marker := watchdog.Marker("FLOTILLA_BENCH_SUPERSET", dir)
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker, Dir: dir})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() { err = errors.Join(err, guard.Release()) }()
	b := &builder{root: filepath.Dir(filepath.Dir(module)), dir: dir, marker: marker, tools: tools}
	if err := b.build(ctx, chosen); err != nil {
		return err
	}
	all := map[bool]*figures{false: {}, true: {suffix: withAggregator}}
	for _, s := range chosen {
		if err := b.within(ctx, s, all[s.aggregator]); err != nil {
			return fmt.Errorf("scenario %s: %w", s.name, err)
		}
	}
	return nil
}

func choose(names []string) ([]scenario, error) {
	if len(names) == 0 {
		return scenarios, nil
	}
	var chosen []scenario
	for _, name := range names {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no scenario %q", name)
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}
