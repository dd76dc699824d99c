package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

const finalizer = "michelangelo/Ingester"

var modelGroup = schema.GroupVersion{Group: "michelangelo.api", Version: "v2"}

// model returns the object of the budget: 3 labels, 2 annotations.
func model(i int) *unstructured.Unstructured {
	obj := benchenv.Object(modelGroup, "Model", benchenv.Namespace, fmt.Sprintf("model-%06d", i), map[string]any{
		"algorithm": "xgboost", "trainingFramework": "spark", "kind": "MODEL_KIND_BINARY_CLASSIFICATION",
		"description": fmt.Sprintf("Churn of customers, model %d", i),
		"owner":       map[string]any{"name": "ada"},
		"modelFamily": map[string]any{"name": "churn"},
		"inputSchema": map[string]any{"schemaItems": []any{map[string]any{"name": "age", "dataType": "DATA_TYPE_INT"}}},
	})
	obj.SetLabels(map[string]string{"team": fmt.Sprintf("team-%d", i%100), "tier": "gold", "stage": "test"})
	obj.SetAnnotations(map[string]string{"note": "made for a benchmark", "ticket": fmt.Sprintf("ML-%d", i)})
	return obj
}

// createModels creates n Models in the cluster.
func createModels(ctx context.Context, e *benchenv.Env, n int, withFinalizer bool) error {
	objects := make([]client.Object, 0, n)
	for i := range n {
		obj := model(i)
		if withFinalizer {
			obj.SetFinalizers([]string{finalizer})
		}
		objects = append(objects, obj)
	}
	benchenv.Note("creating %d objects", n)
	return benchenv.Each(ctx, objects, e.Create)
}

// syncRun is a synchronization of objects that exist before the ingester starts.
type syncRun struct {
	name  string
	size  string // key of the number of objects in sizes
	adopt bool   // the objects have no finalizer
	bus   bool   // change events are published
	flags []string
	// then runs further measurements with the stored rows; nil: none.
	then func(ctx context.Context, s *store, f *benchenv.Figures, n int, perSecond float64) error
}

func (r syncRun) run(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	n, flags := sizes[r.size], r.flags
	if r.bus {
		url, err := e.Bus()
		if err != nil {
			return err
		}
		flags = append(flags, benchenv.BusFlags(url)...)
	}
	return withStore(ctx, e, func(s *store) error {
		if err := createModels(ctx, e, n, !r.adopt); err != nil {
			return err
		}
		perSecond, err := r.measure(ctx, s, f, n, flags)
		if err != nil || r.then == nil {
			return err
		}
		return r.then(ctx, s, f, n, perSecond)
	})
}

// measure starts the ingester, reports the figures until the last commit, and stops it.
func (r syncRun) measure(ctx context.Context, s *store, f *benchenv.Figures, n int, flags []string) (perSecond float64, err error) {
	if err := waitIdle(ctx); err != nil {
		return 0, err
	}
	rows, err := s.inserted(ctx)
	if err != nil {
		return 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	start, err := s.env.Operator.Start(append([]string{"--mysql-dsn=" + s.dsn}, flags...)...)
	if err != nil {
		return 0, err
	}
	end, err := s.await(ctx, n, rows)
	if err != nil {
		return 0, err
	}
	after, err := s.cpu()
	if err != nil {
		return 0, err
	}
	perSecond = float64(n) / end.Sub(start).Seconds()
	f.Report(r.name+".objects_per_s", perSecond, "objects/s")
	reportCPU(f, r.name, n, before, after)
	failed, err := s.env.Operator.Metric(ctx, "flotilla_ingester_errors_total")
	if err != nil {
		return 0, err
	}
	f.Report(r.name+".errors", failed, "errors")
	batches, err := s.env.Operator.Metric(ctx, "flotilla_ingester_batches_total")
	if err != nil {
		return 0, err
	}
	f.Report(r.name+".objects_per_transaction", float64(n)/batches, "objects")
	return perSecond, s.env.Operator.Stop(ctx)
}

// reportCPU reports the CPU time per object, by process.
func reportCPU(f *benchenv.Figures, name string, n int, before, after map[string]float64) {
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

// resyncAndRaw restarts the ingester with unchanged objects and reports the number of rows that it writes. It then measures
// raw inserts of the same rows.
func resyncAndRaw(ctx context.Context, s *store, f *benchenv.Figures, n int, perSecond float64) error {
	if err := resync(ctx, s, f, n); err != nil {
		return err
	}
	limit, err := rawInserts(ctx, s, f, "raw_limit", "uid")
	if err != nil {
		return err
	}
	f.Report("sync.share_of_limit", perSecond/limit, "ratio")
	listed, err := rawInserts(ctx, s, f, "raw_as_listed", "name")
	if err != nil {
		return err
	}
	f.Report("sync.share_of_raw_as_listed", perSecond/listed, "ratio")
	return nil
}

func resync(ctx context.Context, s *store, f *benchenv.Figures, n int) error {
	operator := s.env.Operator
	if _, err := operator.Start("--mysql-dsn=" + s.dsn); err != nil {
		return err
	}
	err := await.Nil(ctx, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		unchanged, err := operator.Metric(ctx, "flotilla_ingester_unchanged_total")
		if err == nil && unchanged < float64(n) {
			err = errors.New("the ingester has not processed all objects")
		}
		return err
	})
	if err != nil {
		return err
	}
	writes := 0.0
	for _, name := range []string{"upserts", "deletes", "evictions"} {
		n, err := operator.Metric(ctx, "flotilla_ingester_"+name+"_total")
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
	f.Report("resync.cpu_us_per_object.ingester", cpu["ingester"]/float64(n)*1e6, "us")
	return operator.Stop(ctx)
}

// waitIdle waits while the servers complete background work after many writes, so it is not measured.
func waitIdle(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(3 * time.Second):
		return nil
	}
}

// update reports the time from a patch to the commit of the new version, one object after another.
func update(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	const objects = 100
	return withStored(ctx, e, objects, func(s *store) error {
		spent := make([]time.Duration, 0, sizes["updates"])
		for i := range sizes["updates"] {
			d, err := updateOne(ctx, s, i%objects, i)
			if err != nil {
				return err
			}
			spent = append(spent, d)
		}
		f.Report("update.p50_ms", benchenv.Percentile(spent, 0.5), "ms")
		f.Report("update.p99_ms", benchenv.Percentile(spent, 0.99), "ms")
		return nil
	})
}

// updateOne patches an object, waits for its row, and returns the time from before the patch until the row was read.
func updateOne(ctx context.Context, s *store, object, round int) (time.Duration, error) {
	obj := model(object)
	patch := fmt.Appendf(nil, `{"spec":{"algorithm":"round-%d"}}`, round)
	start := time.Now()
	if err := s.env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return 0, fmt.Errorf("patch %s: %w", obj.GetName(), err)
	}
	err := await.Nil(ctx, time.Minute, 200*time.Microsecond, func(ctx context.Context) error {
		have, err := s.count(ctx, "SELECT COUNT(*) FROM model WHERE uid = ? AND res_version >= ?", string(obj.GetUID()), obj.GetResourceVersion())
		if err != nil {
			return await.Stop(err)
		}
		if have != 1 {
			return errors.New("the row is not committed")
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("wait for the row of %s: %w", obj.GetName(), err)
	}
	return time.Since(start), nil
}

// measureMemory reports the ingester's resident memory after it has cached and stored many objects.
func measureMemory(ctx context.Context, e *benchenv.Env, f *benchenv.Figures) error {
	n := sizes["cached"]
	return withStored(ctx, e, n, func(*store) error {
		if err := waitIdle(ctx); err != nil {
			return err
		}
		rss, err := e.Operator.RSS()
		if err != nil {
			return err
		}
		f.Report("rss_mb_at_"+benchenv.Thousands(n), rss/1e6, "MB")
		return nil
	})
}
