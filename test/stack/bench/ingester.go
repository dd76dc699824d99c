package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

// run is a synchronisation of n objects that are in the cluster before the ingester starts.
type run struct {
	name  string
	n     int
	adopt bool
	flags []string
}

func syncObjects(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	r := run{name: "sync", n: sizes["objects"]}
	return r.measure(ctx, l, f, func(s *store, perSecond float64) error {
		if err := resync(ctx, s, f, r); err != nil {
			return err
		}
		limit, err := raw(ctx, s, f)
		if err != nil {
			return err
		}
		f.Report("sync.share_of_limit", perSecond/limit, "ratio")
		return nil
	})
}

func adoptObjects(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	return run{name: "sync_adopt", n: sizes["objects"], adopt: true}.measure(ctx, l, f, nil)
}

func oneWorker(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	return run{name: "sync_one_worker", n: sizes["one"], flags: []string{"--concurrent-reconciles=1"}}.measure(ctx, l, f, nil)
}

func withBus(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	url, err := l.Bus()
	if err != nil {
		return err
	}
	flags := []string{"--nats-url=" + url, "--cluster-name=bench", "--bus-bootstrap"}
	return run{name: "sync_bus", n: sizes["objects"], flags: flags}.measure(ctx, l, f, nil)
}

// measure prints the figures of a run; then, if given, says what else is to be done with its rows.
func (r run) measure(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures, then func(*store, float64) error) (err error) {
	s, err := open(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	if err := create(ctx, l, r.n, !r.adopt); err != nil {
		return err
	}
	if err := rest(ctx); err != nil {
		return err
	}
	rows, err := s.inserted(ctx)
	if err != nil {
		return err
	}
	before, err := s.cpu()
	if err != nil {
		return err
	}
	begin, err := l.StartOperator(append([]string{"--mysql-dsn=" + s.dsn}, r.flags...)...)
	if err != nil {
		return err
	}
	end, err := s.await(ctx, r.n, rows)
	if err != nil {
		return err
	}
	after, err := s.cpu()
	if err != nil {
		return err
	}
	perSecond := float64(r.n) / end.Sub(begin).Seconds()
	f.Report(r.name+".objects_per_s", perSecond, "objects/s")
	report(f, r.name, r.n, before, after)
	failed, err := l.Metric(ctx, "flotilla_ingester_errors_total")
	if err != nil {
		return err
	}
	f.Report(r.name+".errors", failed, "errors")
	batches, err := l.Metric(ctx, "flotilla_ingester_batches_total")
	if err != nil {
		return err
	}
	f.Report(r.name+".objects_per_transaction", float64(r.n)/batches, "objects")
	if err := l.StopOperator(ctx); err != nil || then == nil {
		return err
	}
	return then(s, perSecond)
}

// report prints the processor time of one object, by process.
func report(f *benchlab.Figures, name string, n int, before, after map[string]float64) {
	total, others := 0.0, 0.0
	for _, process := range slices.Sorted(maps.Keys(after)) {
		each := (after[process] - before[process]) / float64(n) * 1e6
		total += each
		switch process {
		case "ingester", "mysqld", "kube-apiserver", "etcd":
			f.Report(name+".cpu_us_per_object."+process, each, "us")
		default:
			others += each
		}
	}
	f.Report(name+".cpu_us_per_object.others", others, "us")
	f.Report(name+".cpu_us_per_object.all", total, "us")
}

// resync starts the ingester once more on unchanged objects and prints how many rows it writes.
func resync(ctx context.Context, s *store, f *benchlab.Figures, r run) error {
	if _, err := s.lab.StartOperator("--mysql-dsn=" + s.dsn); err != nil {
		return err
	}
	if err := benchlab.Eventually(ctx, func() error {
		unchanged, err := s.lab.Metric(ctx, "flotilla_ingester_unchanged_total")
		if err == nil && unchanged < float64(r.n) {
			err = errors.New("not all objects have been looked at")
		}
		return err
	}); err != nil {
		return err
	}
	writes := 0.0
	for _, name := range []string{"upserts", "deletes", "evictions"} {
		n, err := s.lab.Metric(ctx, "flotilla_ingester_"+name+"_total")
		if err != nil {
			return err
		}
		writes += n
	}
	f.Report("resync.writes", writes, "rows")
	cpu, err := s.cpu()
	if err != nil {
		return err
	}
	f.Report("resync.cpu_us_per_object.ingester", cpu["ingester"]/float64(r.n)*1e6, "us")
	return s.lab.StopOperator(ctx)
}

// rest lets the servers finish what they do after many writes, so that it does not count.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(3 * time.Second):
		return nil
	}
}
