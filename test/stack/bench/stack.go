// Command bench prints the figures that the budgets name, one line each:
//
//	BENCH <name> <value> <unit>
//
// It starts a stack of its own with make up, measures, and takes it down again.
// Usage: bench [name...] with names from controlplane, supersets, engines, models.
package main

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
	"time"

	"github.com/flotilla-dev/flotilla/test/stack/platform"
)

// bench is one measurement on a running platform.
type bench struct {
	name string
	run  func(context.Context, *platform.Platform) error
}

var benches = []bench{
	{"supersets", supersets},
	{"engines", engines},
	{"models", models},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(names []string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	wanted := func(name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	if wanted("controlplane") {
		if err := controlPlane(ctx); err != nil {
			return err
		}
	}
	dir, err := os.MkdirTemp("", "flotilla-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	root, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	p := &platform.Platform{Root: root, Local: filepath.Join(dir, "local"), Out: os.Stderr}
	defer func() {
		// Down also after an interrupt, when ctx has ended.
		down, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer cancel()
		err = errors.Join(err, p.Close(), p.Down(down))
	}()
	if err := p.Up(ctx); err != nil {
		return err
	}
	for _, b := range benches {
		if !wanted(b.name) {
			continue
		}
		if err := b.run(ctx, p); err != nil {
			return fmt.Errorf("bench %s: %w", b.name, err)
		}
	}
	return nil
}

// report prints one figure.
func report(name string, value float64, unit string) {
	fmt.Printf("BENCH %s %s %s\n", name, strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", value), "0"), "."), unit)
}

// until polls check until it holds; ctx bounds it.
func until(ctx context.Context, check func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := check()
		if err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not done in time: %w", ctx.Err())
		case <-tick.C:
		}
	}
}
