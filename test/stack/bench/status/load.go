package status

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/bus"
	"github.com/flotilla-dev/flotilla/libs/contract"
	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/test/stack/benchenv"
)

const (
	// factor is the ratio of the resources of Load to those of Latency.
	factor = 10
	// flood is how long observations change as fast as the bus accepts them.
	flood = 20 * time.Second

	observationsMetric = "flotilla_status_observations_total"
	leaseMetric        = "flotilla_status_lease_held"
	writesMetric       = "flotilla_status_condition_writes_total"
	heapTargetMetric   = "go_memstats_next_gc_bytes"
)

// Load runs the aggregator without an operator: the program publishes observations of ten times n resources that no
// controller reconciles, with the bus client of the operators. It measures
//
//   - the time from an observation that changes Available to the condition, while observations of different resources change at
//     several rates (status.paced50.p99_ms and others);
//   - the changed observations per second that the aggregator accepts while it also computes and writes conditions
//     (status.observations_per_s), and its live heap per resource (status.heap_kib_per_object, from the target of the garbage
//     collector without and with resources);
//   - a restart of the aggregator with all resources and observations in place: the time until it has read the last
//     observation of every resource and holds the Lease (status.rebuild10k.seconds), and until it has computed every resource
//     again (status.rebuild10k.confirmed_seconds), for which it waits for the next heartbeat (up to 10 s) and then 5 s;
//   - the loss of all data of the bus: the time from the first deletion until every resource has its status entry again
//     (status.rebuild10k.after_wipe_seconds). An observer detects the loss within 15 s.
func Load(ctx context.Context, e *benchenv.Env, n int, f *benchenv.Figures) error {
	url, err := e.Bus()
	if err != nil {
		return err
	}
	if _, err := e.Aggregator.Start(benchenv.BusFlags(url)...); err != nil {
		return err
	}
	if err := e.Aggregator.WaitForLeader(ctx); err != nil {
		return err
	}
	empty, err := e.Aggregator.Metric(ctx, heapTargetMetric)
	if err != nil {
		return err
	}
	benchenv.Note("creating %d resources without a controller", n*factor)
	objects := smallSupersets(n * factor)
	if err := benchenv.Each(ctx, objects, e.Create); err != nil {
		return err
	}
	o, err := observe(ctx, e, url)
	if err != nil {
		return err
	}
	defer o.end()
	o.publishAll()
	if err := e.Await(ctx, objects, isAvailable); err != nil {
		return err
	}
	full, err := e.Aggregator.Metric(ctx, heapTargetMetric)
	if err != nil {
		return err
	}
	// The collector's target is twice the live heap.
	f.Report("heap_kib_per_object", (full-empty)/2/1024/float64(len(objects)), "KiB")
	if err := paced(ctx, e, o, f); err != nil {
		return err
	}
	if err := throughput(ctx, e, o, n, f); err != nil {
		return err
	}
	if err := rebuild(ctx, e, objects, url, f); err != nil {
		return err
	}
	return wipe(ctx, o, len(objects), f)
}

// throughput changes n resources continuously and counts the observations that the aggregator accepts in this time.
func throughput(ctx context.Context, e *benchenv.Env, o *observer, n int, f *benchenv.Figures) error {
	before, err := e.Aggregator.Metric(ctx, observationsMetric)
	if err != nil {
		return err
	}
	start := time.Now()
	for time.Since(start) < flood {
		if err := o.change(ctx, n); err != nil {
			return err
		}
	}
	after, err := e.Aggregator.Metric(ctx, observationsMetric)
	if err != nil {
		return err
	}
	f.Report("observations_per_s", (after-before)/time.Since(start).Seconds(), "observations")
	o.publishAll()
	return nil
}

// rebuild restarts the aggregator with all resources, observations and status entries in place.
func rebuild(ctx context.Context, e *benchenv.Env, objects []client.Object, url string, f *benchenv.Figures) error {
	if err := e.Await(ctx, objects, isAvailable); err != nil {
		return err
	}
	if err := e.WaitSettled(ctx); err != nil {
		return err
	}
	if err := e.Aggregator.Stop(ctx); err != nil {
		return err
	}
	start, err := e.Aggregator.Start(benchenv.BusFlags(url)...)
	if err != nil {
		return err
	}
	name := "rebuild" + benchenv.Thousands(len(objects))
	// It takes the Lease only after it has caught up.
	for _, step := range []struct {
		metric string
		least  float64
		figure string
	}{
		{observationsMetric, float64(len(objects)), ""},
		{leaseMetric, 1, name + ".seconds"},
		{writesMetric, float64(len(objects)), name + ".confirmed_seconds"},
	} {
		if err := waitForMetric(ctx, e, step.metric, step.least); err != nil {
			return errors.Join(errors.New("rebuild"), err)
		}
		duration := time.Since(start).Seconds()
		benchenv.Note("%s reached %.0f after %.1f s", step.metric, step.least, duration)
		if step.figure != "" {
			f.Report(step.figure, duration, "s")
		}
	}
	return nil
}

// waitForMetric waits until a metric of the aggregator is at least least.
func waitForMetric(ctx context.Context, e *benchenv.Env, metric string, least float64) error {
	return await.Nil(ctx, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		value, err := e.Aggregator.Metric(ctx, metric)
		if err == nil && value < least {
			err = fmt.Errorf("%s is %.0f, want at least %.0f", metric, value, least)
		}
		return err
	})
}

// wipe deletes and re-creates the streams and the bucket, and measures the time until every resource has its status entry
// again: the observer must detect the loss and publish, and the aggregator must compute and record all conditions.
func wipe(ctx context.Context, o *observer, n int, f *benchenv.Figures) error {
	js := o.conn.JetStream()
	start := time.Now()
	for _, stream := range []string{contract.StreamObservations, contract.StreamHeartbeats, contract.StreamLifecycle} {
		if err := js.DeleteStream(ctx, stream); err != nil {
			return fmt.Errorf("wipe %s: %w", stream, err)
		}
	}
	if err := js.DeleteKeyValue(ctx, contract.BucketStatus); err != nil {
		return fmt.Errorf("wipe %s: %w", contract.BucketStatus, err)
	}
	if err := bus.Bootstrap(ctx, js, bus.DefaultParams()); err != nil {
		return err
	}
	// The bar is one minute, but a longer time must still be reported.
	err := await.Nil(ctx, 10*time.Minute, 100*time.Millisecond, func(ctx context.Context) error { return recorded(ctx, js, n) })
	if err != nil {
		return err
	}
	f.Report("rebuild"+benchenv.Thousands(n)+".after_wipe_seconds", time.Since(start).Seconds(), "s")
	return nil
}

// recorded returns an error while fewer than n resources have a status entry.
func recorded(ctx context.Context, js jetstream.JetStream, n int) error {
	stream, err := js.Stream(ctx, "KV_"+contract.BucketStatus)
	if err != nil {
		return err
	}
	if have := stream.CachedInfo().State.NumSubjects; have < uint64(n) {
		return fmt.Errorf("got %d status entries, want %d", have, n)
	}
	return nil
}
