package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/test/stack/benchlab"
)

const (
	// flipped is how many resources change; each goes down and comes back, so there are twice as many samples.
	flipped = 250
	// every is the time between two changes.
	every = 50 * time.Millisecond
)

func latency(ctx context.Context, l *benchlab.Lab, f *benchlab.Figures) error {
	f = f.Plain()
	n, err := size()
	if err != nil {
		return err
	}
	if err := startBoth(ctx, l); err != nil {
		return err
	}
	benchlab.Note("bringing %d Supersets to where they should be", n)
	if err := l.Bring(ctx, supersets(n), l.Create, isAvailable); err != nil {
		return err
	}
	if err := l.Settled(ctx); err != nil {
		return err
	}
	idle, err := l.Idle(ctx)
	if err != nil {
		return err
	}
	f.Report("idle.writes_per_minute", float64(idle.Requests.Writes+idle.Aggregator.Writes), "requests")
	samples, err := flips(ctx, l, min(n, flipped))
	if err != nil {
		return err
	}
	slices.Sort(samples)
	benchlab.Note("%d samples of the latency, from %s to %s", len(samples), samples[0], samples[len(samples)-1])
	f.Report("latency.p50_ms", milliseconds(quantile(samples, 0.50)), "ms")
	f.Report("latency.p99_ms", milliseconds(quantile(samples, 0.99)), "ms")
	return nil
}

// startBoth starts the bus, the aggregator and the operator.
func startBoth(ctx context.Context, l *benchlab.Lab) error {
	url, err := l.Bus()
	if err != nil {
		return err
	}
	companion, err := l.Companion(ctx)
	if err != nil {
		return err
	}
	if _, err := companion.Start(url); err != nil {
		return err
	}
	if err := companion.Writes(ctx); err != nil {
		return err
	}
	_, err = l.StartOperator(benchlab.BusFlags(url)...)
	return err
}

// flips takes the readiness of one pod after the other away, then gives it back, and returns how long each change took
// from its Deployment to its Superset.
func flips(ctx context.Context, l *benchlab.Lab, n int) ([]time.Duration, error) {
	pods, err := podsOf(ctx, l, n)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newStopwatch()
	if err := w.start(ctx, l.Client, cancel); err != nil {
		return nil, err
	}
	for turn, value := range []string{fmt.Sprintf("%q", controlplane.FailNeverReady), "null"} {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, controlplane.FailAnnotation, value)
		tick := time.NewTicker(every)
		for _, pod := range pods {
			if err := l.Client.Patch(ctx, &pod, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				tick.Stop()
				return nil, fmt.Errorf("change pod %s: %w", pod.Name, err)
			}
			<-tick.C
		}
		tick.Stop()
		changed := func() error { return w.seen(len(pods), turn+1) }
		if err := benchlab.Eventually(ctx, changed); err != nil {
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
	return w.samples(), nil
}

// podsOf returns the pod of each of n Supersets.
func podsOf(ctx context.Context, l *benchlab.Lab, n int) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := l.Client.List(ctx, list, client.InNamespace(benchlab.Namespace)); err != nil {
		return nil, fmt.Errorf("list the pods: %w", err)
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.DeletionTimestamp != nil || !strings.Contains(p.Name, webServer)
	})
	if len(pods) < n {
		return nil, fmt.Errorf("%d pods for %d Supersets", len(pods), n)
	}
	return pods[:n], nil
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
