package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// update prints how long it takes from a patch to the commit of the new version, one object after another.
func update(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) (err error) {
	const objects = 100
	s, err := open(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := create(ctx, l, objects, true); err != nil {
		return err
	}
	if err := s.start(ctx, objects); err != nil {
		return err
	}
	spent := make([]time.Duration, 0, sizes["updates"])
	for i := range sizes["updates"] {
		d, err := updateOne(ctx, s, i%objects, i)
		if err != nil {
			return err
		}
		spent = append(spent, d)
	}
	f.Report("update.p50_ms", percentile(spent, 0.5), "ms")
	f.Report("update.p99_ms", percentile(spent, 0.99), "ms")
	return nil
}

// percentile sorts the durations and returns the one that a share of them does not exceed, in milliseconds.
func percentile(spent []time.Duration, share float64) float64 {
	slices.Sort(spent)
	return spent[min(len(spent)-1, int(share*float64(len(spent))))].Seconds() * 1000
}

// updateOne patches an object and waits for its row: from before the patch is sent to after the row has been read.
func updateOne(ctx context.Context, s *store, object, round int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	obj := model(object)
	patch := fmt.Appendf(nil, `{"spec":{"algorithm":"round-%d"}}`, round)
	begin := time.Now()
	if err := s.lab.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return 0, fmt.Errorf("patch %s: %w", obj.GetName(), err)
	}
	for {
		have, err := s.count(ctx, "SELECT COUNT(*) FROM model WHERE uid = ? AND res_version >= ?", string(obj.GetUID()), obj.GetResourceVersion())
		if err != nil {
			return 0, fmt.Errorf("wait for the row of %s: %w", obj.GetName(), err)
		}
		if have == 1 {
			return time.Since(begin), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("wait for the row of %s: %w", obj.GetName(), context.Cause(ctx))
		case <-time.After(200 * time.Microsecond):
		}
	}
}

// memory prints the ingester's resident memory when it holds many objects and has stored them.
func memory(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) (err error) {
	n := sizes["cached"]
	s, err := open(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := create(ctx, l, n, true); err != nil {
		return err
	}
	if err := s.start(ctx, n); err != nil {
		return err
	}
	if err := rest(ctx); err != nil {
		return err
	}
	rss, err := l.RSS()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("rss_mb_at_%d", n)
	if n%1000 == 0 {
		name = fmt.Sprintf("rss_mb_at_%dk", n/1000)
	}
	f.Report(name, rss/1e6, "MB")
	return nil
}

// compute times what the ingester itself does with one object, from the JSON that the API server sends.
func compute(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	ns, err := benchmark(ctx, l, "Build", "2s", "ns/op", "./internal/record")
	if err != nil {
		return err
	}
	f.Report("compute.ns_per_object", ns, "ns")
	return nil
}

// list prints how long the storage interface takes to list the newest hundred of the objects that two labels select, one
// in a hundred of 100,000 rows, and of those that two fields select, a quarter of the rows.
func list(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	for _, figure := range []struct{ name, benchmark string }{{"list", "ListByLabels"}, {"list_by_fields", "ListByFields"}} {
		ms, err := benchmark(ctx, l, figure.benchmark, "500x", "p99-ms", "./storage/mysql")
		if err != nil {
			return err
		}
		f.Report(figure.name+".p99_ms", ms, "ms")
	}
	return nil
}

// benchmark runs a Go benchmark of the ingester and returns one of its figures.
func benchmark(ctx context.Context, l *benchlab.Lab, name, duration, unit, pkg string) (float64, error) {
	out, err := l.Go(ctx, "test", "-run=^$", "-timeout=30m", "-bench=^Benchmark"+name+"$", "-benchtime="+duration, pkg)
	if err != nil {
		return 0, err
	}
	found := regexp.MustCompile(`(?m)^Benchmark` + name + `\S*\s.*\s([0-9.]+) ` + unit).FindStringSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("no %s in the benchmark's output:\n%s", unit, out)
	}
	value, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		return 0, fmt.Errorf("read the benchmark's figure: %w", err)
	}
	return value, nil
}
