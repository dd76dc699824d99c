package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// offer times what an operator pays for telling the bus.
func offer(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	out, err := l.Go(ctx, "-C", "../../libs/bus", "test", "-run=^$", "-bench=^BenchmarkOffer", "-benchtime=2s", ".")
	if err != nil {
		return err
	}
	for name, figure := range map[string]string{"Offer": "offer.ns", "OfferObservation": "offer.unchanged_ns"} {
		found := regexp.MustCompile(`(?m)^Benchmark` + name + `(?:-\d+)?\s+\d+\s+([0-9.]+) ns/op`).FindStringSubmatch(out)
		if found == nil {
			return fmt.Errorf("no figure of %s in the benchmark's output:\n%s", name, out)
		}
		ns, err := strconv.ParseFloat(found[1], 64)
		if err != nil {
			return fmt.Errorf("read the benchmark's figure: %w", err)
		}
		f.Plain().Report(figure, ns, "ns")
	}
	return nil
}
