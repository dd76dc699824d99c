package faults

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flotilla-dev/flotilla/libs/conditions"
	"github.com/flotilla-dev/flotilla/libs/contract"

	"github.com/flotilla-dev/flotilla/services/status-aggregator/internal/metrics"
)

var oneSeed = flag.Uint64("seed", 0, "run the simulation of this seed only")

const (
	faultTime         = 180 * time.Second // duration of faults in each run
	convergence       = 60 * time.Second  // after which all conditions that are not damped must be correct
	reaction          = 15 * time.Second  // the same without faults before; less than the grace of a missing observation
	dampedConvergence = 15 * time.Minute  // after which all conditions must be correct
)

var names = []string{"a", "b", "c"}

// run is one randomized run.
type run struct {
	*simulation
	operator *operator
	active   *aggregator
	paused   *aggregator // a paused former leader
	metrics  *metrics.Metrics
	count    int
}

// step advances the simulation by one second.
func (r *run) step(ctx context.Context) {
	r.clock.SetTime(r.clock.Now().Add(time.Second))
	r.operator.tick()
	if r.active != nil {
		r.active.tick(ctx)
	}
}

func (r *run) startAggregator() {
	r.count++
	r.active = newAggregator(r.simulation, fmt.Sprintf("aggregator-%d", r.count), r.metrics)
}

// simulate returns the violations in the run of a seed.
func simulate(ctx context.Context, seed uint64, m *metrics.Metrics) ([]string, error) {
	w, err := newSimulation(seed)
	if err != nil {
		return nil, err
	}
	w.session = 1
	r := &run{simulation: w, operator: newOperator(w), metrics: m}
	for _, name := range names {
		r.create(name)
	}
	r.startAggregator()
	for range int(faultTime / time.Second) {
		if r.chance(25) {
			r.fault(ctx)
		}
		r.step(ctx)
	}
	r.removeFaults()
	r.steps(ctx, convergence)
	expected := map[string]conditions.Result{}
	r.expectAll(expected)
	damped := []string{conditions.TypeDegraded, conditions.TypeUpgradable}
	for _, change := range []func(){r.changeSpecs, r.end} {
		change()
		r.expectAll(expected)
		r.steps(ctx, reaction)
		r.check(expected, "after 15 s", damped...)
	}
	r.steps(ctx, convergence-reaction)
	r.check(expected, "after a minute", damped...)
	r.steps(ctx, dampedConvergence-convergence)
	r.expectAll(expected)
	r.check(expected, "at the end")
	return r.violations, nil
}

// steps advances the simulation by a duration.
func (r *run) steps(ctx context.Context, d time.Duration) {
	for range int(d / time.Second) {
		r.step(ctx)
	}
}

// expectAll computes the expected conditions of all objects, after the former ones.
func (r *run) expectAll(expected map[string]conditions.Result) {
	for name := range r.actual {
		expected[name] = r.expect(name, expected[name].Memory)
	}
}

// expect computes the expected conditions of an object from complete observations.
func (r *run) expect(name string, m conditions.State) conditions.Result {
	obs := r.observation(name)
	return conditions.Compute(conditions.Input{
		Observation: &obs, Generation: r.actual[name].generation, Now: r.now(), Memory: m, WithReady: conditions.WithReady(r.kind.Token),
	})
}

// check compares the conditions with the expected ones; damped types may be excluded.
func (r *run) check(expected map[string]conditions.Result, when string, without ...string) {
	for name, want := range expected {
		present, err := conditionsOf(r.objects[name])
		if err != nil {
			r.reportViolation("B1: %v", err)
		}
		if got, want := summary(present, without), summary(want.Conditions, without); got != want {
			r.reportViolation("B1: %s %s has %s, want %s", when, name, got, want)
		}
		var e contract.StatusEntry
		if err := json.Unmarshal(r.bucket[ref(name)].value, &e); err != nil {
			r.reportViolation("B1: %s the entry of %s: %v", when, name, err)
			continue
		}
		var filtered []metav1.Condition
		for _, c := range e.Conditions {
			filtered = append(filtered, metav1.Condition{
				Type: c.Type, Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, ObservedGeneration: c.ObservedGeneration,
			})
		}
		if got, want := summary(filtered, nil), summary(present, nil); got != want {
			r.reportViolation("B1: %s the entry of %s has %s, the object %s", when, name, got, want)
		}
	}
	for of := range r.bucket {
		if r.actual[of.Name] == nil {
			r.reportViolation("B1: %s there is an entry of %s, which is gone", when, of.Name)
		}
	}
	for name := range r.last {
		if r.actual[name] == nil {
			r.reportViolation("B1: %s the stream holds a word on %s, which is gone: place %d, read up to %d, known %d",
				when, name, r.last[name].sequence, r.active.read, r.active.model.LatestPosition(ref(name)).Sequence)
		}
	}
}

func summary(list []metav1.Condition, without []string) string {
	var out []string
	for _, c := range list {
		line := fmt.Sprintf("%s=%s/%s@%d", c.Type, c.Status, c.Reason, c.ObservedGeneration)
		for _, t := range without {
			if c.Type == t {
				line = ""
			}
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, " ")
}

// After any faults, the conditions are correct a minute after the last one.
func TestSimulation(t *testing.T) {
	m, err := newMetrics()
	if err != nil {
		t.Fatal(err)
	}
	first, last := uint64(1), uint64(runs)
	if *oneSeed != 0 {
		first, last = *oneSeed, *oneSeed
	}
	var incorrect, back atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(runtime.GOMAXPROCS(0))
	for seed := first; seed <= last; seed++ {
		group.Go(func() error {
			violations, err := simulate(ctx, seed, m)
			if len(violations) > 0 && incorrect.Add(1) <= 5 {
				t.Errorf("seed %d:\n%s", seed, strings.Join(violations[:min(len(violations), 5)], "\n"))
			}
			for _, v := range violations {
				if strings.HasPrefix(v, "B2") {
					back.Add(1)
				}
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	printBar(t, "B1", float64(incorrect.Load()), fmt.Sprintf("runs of %d with a violation", last-first+1), "0")
	printBar(t, "B2", float64(back.Load()), "times that something went back", "0")
}
