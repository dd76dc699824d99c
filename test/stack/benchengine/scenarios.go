package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// compute times one decision of the operator, without anything that is read or written around it.
func compute(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	out, err := l.Go(ctx, "test", "-run=^$", "-bench=^BenchmarkDecide$", "-benchtime=2s", "./internal/engine")
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`(?m)^BenchmarkDecide\S*\s+\d+\s+([0-9.]+) ns/op`).FindStringSubmatch(out)
	if found == nil {
		return fmt.Errorf("no figure in the benchmark's output:\n%s", out)
	}
	ns, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return fmt.Errorf("read the benchmark's figure: %w", err)
	}
	f.Report("compute.ns_per_op", ns, "ns")
	return nil
}

// small creates 50 engines, rolls them, then creates 50 more and watches the hundred do nothing for a minute.
func small(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	cost, err := l.Work(ctx, engines(0, 50), l.Create, serves(0))
	if err != nil {
		return err
	}
	f.Created(50, cost)
	if cost, err = l.Work(ctx, engines(0, 50), newImage(l), serves(1)); err != nil {
		return err
	}
	f.Work("rollout50", cost)
	if _, err := l.Work(ctx, engines(50, 100), l.Create, serves(0)); err != nil {
		return err
	}
	idle, err := l.Idle(ctx)
	if err != nil {
		return err
	}
	f.Idle(100, idle)
	if l.WithAggregator() {
		return nil
	}
	return raw(ctx, l, 50, f)
}

// large creates 500 engines at once.
func large(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	cost, err := l.Work(ctx, engines(0, 500), l.Create, serves(0))
	if err != nil {
		return err
	}
	f.Created(500, cost)
	rss, err := l.RSS()
	if err != nil {
		return err
	}
	f.Report("rss_mb_at_500", rss/1e6, "MB")
	return nil
}
