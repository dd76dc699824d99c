package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

// counter is a load generator with fixed answers by phase.
type counter struct {
	mu     sync.Mutex
	phases []load.Figures
	failed map[string]int // how many answers of a phase fail
}

func (c *counter) Reset(ctx context.Context, phase string) ([]load.Figures, error) {
	c.mu.Lock()
	c.phases = nil
	c.mu.Unlock()
	return c.Phase(ctx, phase)
}

func (c *counter) Phase(_ context.Context, phase string) ([]load.Figures, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.phases = append(c.phases, load.Figures{
		Phase: phase, Answers: 10, Failed: c.failed[phase], LongestGap: float64(c.failed[phase]), Failures: make([]string, c.failed[phase]),
	})
	return c.phases, nil
}

func (c *counter) Figures(context.Context) ([]load.Figures, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.phases, nil
}

func startCounter(c *counter) func(context.Context, *Step) (Loadgen, error) {
	return func(context.Context, *Step) (Loadgen, error) { return c, nil }
}

func succeed(context.Context, *Step) error { return nil }

// runScenario runs one scenario and returns its result and output.
func runScenario(t *testing.T, s Scenario) (Result, string) {
	t.Helper()
	var out bytes.Buffer
	r := &Runner{
		Out: &out, Now: time.Now, AbandonAfter: 50 * time.Millisecond, CleanLimit: 200 * time.Millisecond,
		Watch: func(ctx context.Context, _ *timeline.Recorder, _ timeline.Object) { <-ctx.Done() },
	}
	if s.Limit == 0 {
		s.Limit = 30 * time.Second
	}
	s.Name = "it"
	return r.Run(t.Context(), [][]Scenario{{s}})[0], out.String()
}

func TestRunnerPassesScenario(t *testing.T) {
	c := &counter{failed: map[string]int{"stop": 10}}
	cleaned := false
	got, out := runScenario(t, Scenario{
		Prepare: startCounter(c),
		Phases: []Phase{
			{Name: "scale", Do: succeed},
			{Name: "stop", Outage: true, Do: func(_ context.Context, s *Step) error { s.Note("seen %d", 1); return nil }},
			{Name: "start", Do: succeed},
		},
		Clean: func(context.Context, *Step) error { cleaned = true; return nil },
	})
	if !got.OK() || got.Total.Answers != 20 || got.Total.Failed != 0 || len(got.Phases) != 3 || got.Phases[1].Load.Failed != 10 || !cleaned {
		t.Errorf("%+v", got)
	}
	if len(got.Notes) != 1 || got.Notes[0] != "seen 1" {
		t.Errorf("notes %q", got.Notes)
	}
	if want := "E2E it ok answers=20 failed=0 longest_gap=0.0 seconds=0\n"; !strings.Contains(out, want) {
		t.Errorf("printed %q, want %q", out, want)
	}
}

type failingScenario struct {
	scenario Scenario
	want     []string // in the output
}

func checkFails(t *testing.T, cases map[string]failingScenario) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, out := runScenario(t, tc.scenario)
			if got.OK() || !strings.Contains(out, "E2E it FAILED") {
				t.Fatalf("the scenario passed: %q", out)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("printed %q, want %q in it", out, want)
				}
			}
		})
	}
}

func TestRunnerFailsScenario(t *testing.T) {
	checkFails(t, map[string]failingScenario{
		"a failed answer": {
			Scenario{Prepare: startCounter(&counter{failed: map[string]int{"scale": 2}}), Phases: []Phase{{Name: "scale", Do: succeed}}},
			[]string{"phase scale: 2 of 10 answers failed", "FAILED answers=10 failed=2"},
		},
		"a check of the scenario": {
			Scenario{
				Prepare: startCounter(&counter{failed: map[string]int{"scale": 3}}), Phases: []Phase{{Name: "scale", Do: succeed}},
				Evaluate: func(_ *Step, phases []load.Figures) error {
					return fmt.Errorf("phase %s has %d bad answers", phases[0].Phase, phases[0].Failed)
				},
			},
			[]string{"phase scale has 3 bad answers"},
		},
		"an error": {
			Scenario{Phases: []Phase{{Name: "one", Do: func(context.Context, *Step) error { return errors.New("oops") }}, {Name: "two", Do: succeed}}},
			[]string{"phase one: oops"},
		},
		"a panic": {
			Scenario{Phases: []Phase{{Name: "one", Do: func(context.Context, *Step) error { panic("oops") }}}},
			[]string{"panic: oops", "runner_test.go"},
		},
		"a failed preparation": {
			Scenario{Prepare: func(context.Context, *Step) (Loadgen, error) { return nil, errors.New("no image") }},
			[]string{"prepare: no image"},
		},
		"a failed cleanup": {
			Scenario{Clean: func(context.Context, *Step) error { return errors.New("a claim is left") }},
			[]string{"clean up: a claim is left"},
		},
		"a load generator that lost its counts": {
			Scenario{Prepare: func(context.Context, *Step) (Loadgen, error) { return &forgetful{}, nil }, Phases: []Phase{{Name: "one", Do: succeed}}},
			[]string{"its counts are lost"},
		},
	})
}

func TestRunnerReportsWaits(t *testing.T) {
	never := func(ctx context.Context, s *Step) error {
		return s.Until(ctx, "the engine is stable", func(context.Context) error { return errors.New("phase is creating") })
	}
	release := make(chan struct{})
	defer close(release)
	checkFails(t, map[string]failingScenario{
		"a wait that exceeds the limit": {
			Scenario{Limit: 50 * time.Millisecond, Phases: []Phase{{Name: "one", Do: never}}},
			[]string{"phase one: waited for the engine is stable; last seen: phase is creating"},
		},
		"two concurrent waits": {
			Scenario{Limit: 50 * time.Millisecond, Phases: []Phase{{Name: "one", Do: func(ctx context.Context, s *Step) error {
				second := make(chan error, 1)
				go func() {
					second <- s.Until(ctx, "the bus is available", func(context.Context) error { return errors.New("no route") })
				}()
				met := s.Until(ctx, "a fulfilled condition", func(context.Context) error { return nil })
				return errors.Join(never(ctx, s), <-second, met)
			}}}},
			[]string{"waited for the engine is stable; last seen: phase is creating\n", "waited for the bus is available; last seen: no route\n"},
		},
		"a fulfilled wait": {
			Scenario{Phases: []Phase{{Name: "one", Do: func(ctx context.Context, s *Step) error {
				if err := s.Until(ctx, "a fulfilled condition", func(context.Context) error { return nil }); err != nil {
					return err
				}
				return errors.New("oops")
			}}}},
			[]string{"phase one: oops\n  waited last for: nothing\n"},
		},
		"a phase that ignores its context": {
			Scenario{Limit: 50 * time.Millisecond, Phases: []Phase{{Name: "one", Do: func(context.Context, *Step) error { <-release; return nil }}}},
			[]string{"timed out and did not return"},
		},
	})
}

type forgetful struct{ counter }

func (*forgetful) Reset(context.Context, string) ([]load.Figures, error) { return nil, nil }
func (*forgetful) Figures(context.Context) ([]load.Figures, error)       { return nil, nil }

// The runner cleans up after an interrupt, and still starts the later groups of the plan.
func TestRunnerCleansUpAfterInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cleaned := 0
	clean := func(ctx context.Context, _ *Step) error {
		cleaned++
		return ctx.Err()
	}
	r := &Runner{Out: &bytes.Buffer{}, Now: time.Now, AbandonAfter: time.Second, Watch: func(context.Context, *timeline.Recorder, timeline.Object) {}}
	wait := func(ctx context.Context, _ *Step) error { cancel(); <-ctx.Done(); return ctx.Err() }
	results := r.Run(ctx, [][]Scenario{
		{{Name: "a", Limit: time.Minute, Phases: []Phase{{Name: "one", Do: wait}}, Clean: clean}},
		{{Name: "b", Limit: time.Minute, Phases: []Phase{{Name: "one", Do: wait}}, Clean: clean}},
	})
	if len(results) != 2 || results[0].OK() || results[1].OK() || cleaned != 2 {
		t.Errorf("cleaned %d times: %+v", cleaned, results)
	}
}

func TestRunnerRunsGroupInParallel(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	waitForBoth := func(context.Context, *Step) error { both.Done(); both.Wait(); return nil }
	r := &Runner{Out: &bytes.Buffer{}, Now: time.Now}
	var group []Scenario
	for i := range 2 {
		group = append(group, Scenario{Name: fmt.Sprint(i), Limit: 30 * time.Second, Phases: []Phase{{Name: "meet", Do: waitForBoth}}})
	}
	for _, result := range r.Run(t.Context(), [][]Scenario{group}) {
		if !result.OK() {
			t.Error(result.Problem)
		}
	}
}
