package benchenv

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// GoBenchmark is a Go benchmark from which one figure is reported.
type GoBenchmark struct {
	Module, Package string // directory of the module in the checkout, and package in the module
	Name            string // without "Benchmark"
	Time            string // value of -benchtime
	Unit            string // unit of the value in the output of go test
	Figure          string
	FigureUnit      string
}

func (b GoBenchmark) run(ctx context.Context, root string, f *Figures) error {
	cmd := proc.Go(ctx, filepath.Join(root, b.Module), "test", "-run=^$", "-timeout=30m",
		"-bench=^Benchmark"+b.Name+"$", "-benchtime="+b.Time, b.Package)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("benchmark %s: %w\n%s", b.Name, err, out)
	}
	found := regexp.MustCompile(`(?m)^Benchmark` + b.Name + `\S*\s.*\s([0-9.]+) ` + b.Unit).FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("benchmark %s printed no %s:\n%s", b.Name, b.Unit, out)
	}
	value, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return fmt.Errorf("benchmark %s: %w", b.Name, err)
	}
	f.Report(b.Figure, value, b.FigureUnit)
	return nil
}
