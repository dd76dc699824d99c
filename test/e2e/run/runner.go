package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

const (
	// cleanLimit is the default timeout of Clean.
	cleanLimit = 3 * time.Minute
	// abandonLimit is how long a scenario may run after its timeout before it is abandoned.
	abandonLimit = 20 * time.Second
)

// Runner runs scenarios.
type Runner struct {
	Out io.Writer
	Now func() time.Time
	// Watch records the changes of an object until the context ends.
	Watch func(context.Context, *timeline.Recorder, timeline.Object)
	// AbandonAfter and CleanLimit override abandonLimit and cleanLimit in tests.
	AbandonAfter, CleanLimit time.Duration

	print sync.Mutex
}

// Run runs the scenarios of each group in parallel, one group after the other, and returns the results in the order
// of the plan. It continues after a scenario fails.
func (r *Runner) Run(ctx context.Context, plan [][]Scenario) []Result {
	var out []Result
	for _, group := range plan {
		results := make([]Result, len(group))
		var all sync.WaitGroup
		for i, s := range group {
			all.Go(func() { results[i] = r.one(ctx, s) })
		}
		all.Wait()
		out = append(out, results...)
	}
	return out
}

// Line returns the line that the runner prints for a completed scenario.
func (r Result) Line() string {
	outcome := "ok"
	if !r.OK() {
		outcome = "FAILED"
	}
	executed := ""
	if r.Total.Executed > 0 {
		executed = fmt.Sprintf(" executed=%d twice=%d", r.Total.Executed, r.Total.Twice)
	}
	return fmt.Sprintf("E2E %s %s answers=%d failed=%d%s longest_gap=%.1f seconds=%.0f",
		r.Name, outcome, r.Total.Answers, r.Total.Failed, executed, r.Total.LongestGap, r.Seconds)
}

func (r *Runner) one(ctx context.Context, s Scenario) Result {
	step := &Step{scenario: s.Name, out: locked{r}, now: r.Now}
	recorder := timeline.NewRecorder(r.Now)
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for _, o := range s.Watch {
		go r.Watch(watching, recorder, o)
	}
	p := &execution{Scenario: s, step: step, now: r.Now}
	startedAt := r.Now()
	limited, cancel := context.WithTimeout(ctx, s.Limit)
	err := r.guard(limited, step, p.all)
	cancel()
	result := p.result()
	result.StartedAt, result.Seconds = startedAt, r.Now().Sub(startedAt).Seconds()
	if err != nil {
		result.Problem, result.Waited = err.Error(), step.waited()
	}
	if s.Clean != nil {
		// Clean up after an interrupt too: leftover objects would break the next run.
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), or(s.CleanLimit, or(r.CleanLimit, cleanLimit)))
		defer cancel()
		if err := r.guard(cleaning, step, func(ctx context.Context) error { return s.Clean(ctx, step) }); err != nil {
			result.Problem = errors.Join(errorOf(result.Problem), fmt.Errorf("clean up: %w", err)).Error()
		}
	}
	result.Changes, result.Notes = recorder.Changes(), step.Notes()
	fmt.Fprintln(locked{r}, result.Line())
	if !result.OK() {
		fmt.Fprintf(locked{r}, "  %s\n  waited last for: %s\n", result.Problem, result.Waited)
	}
	return result
}

// guard calls do and returns its error. It converts a panic into an error, and abandons a call that ignores the end of ctx.
func (r *Runner) guard(ctx context.Context, step *Step, do func(context.Context) error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if what := recover(); what != nil {
				done <- fmt.Errorf("panic: %v\n%s", what, debug.Stack())
			}
		}()
		done <- do(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(or(r.AbandonAfter, abandonLimit)):
		return fmt.Errorf("timed out and did not return; it waited for %s", step.waited())
	}
}

// execution is one run of a scenario. Its results may be read while it runs, since the runner may abandon it.
type execution struct {
	Scenario
	step *Step
	now  func() time.Time

	mu     sync.Mutex
	phases []PhaseResult
}

func (p *execution) all(ctx context.Context) error {
	var loadgen Loadgen
	if p.Prepare != nil {
		var err error
		if loadgen, err = p.Prepare(ctx, p.step); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	var firstErr error
	for i, phase := range p.Phases {
		if err := p.phase(ctx, loadgen, i, phase); err != nil {
			firstErr = fmt.Errorf("phase %s: %w", phase.Name, err)
			break
		}
	}
	if loadgen == nil {
		return firstErr
	}
	// Use a context of its own: the figures of a scenario that timed out are needed most.
	reading, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	figures, err := loadgen.Figures(reading)
	if err != nil {
		return errors.Join(firstErr, fmt.Errorf("get the figures of the load generator: %w", err))
	}
	return errors.Join(firstErr, p.evaluate(figures))
}

func (p *execution) phase(ctx context.Context, loadgen Loadgen, i int, phase Phase) error {
	if loadgen != nil {
		startPhase := loadgen.Phase
		if i == 0 {
			startPhase = loadgen.Reset
		}
		if _, err := startPhase(ctx, phase.Name); err != nil {
			return fmt.Errorf("set the phase of the load generator: %w", err)
		}
	}
	startedAt := p.now()
	p.mu.Lock()
	p.phases = append(p.phases, PhaseResult{Name: phase.Name, Outage: phase.Outage, StartedAt: startedAt})
	p.mu.Unlock()
	p.step.Log("%s", phase.Name)
	err := phase.Do(ctx, p.step)
	p.mu.Lock()
	p.phases[i].Seconds = p.now().Sub(startedAt).Seconds()
	p.mu.Unlock()
	return err
}

// evaluate assigns the figures to the phases and checks the phases without an expected outage.
func (p *execution) evaluate(figures []load.Figures) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(figures) != len(p.phases) {
		return fmt.Errorf("got figures of %d phases, want %d: the load generator restarted, and its counts are lost", len(figures), len(p.phases))
	}
	for i := range p.phases {
		p.phases[i].Load = &figures[i]
	}
	if p.Evaluate == nil {
		return errors.Join(ExecutedOnce(figures), NoFailure(watched(p.phases)))
	}
	return errors.Join(ExecutedOnce(figures), p.Evaluate(p.step, watched(p.phases)))
}

func watched(phases []PhaseResult) []load.Figures {
	var out []load.Figures
	for _, p := range phases {
		if !p.Outage && p.Load != nil {
			out = append(out, *p.Load)
		}
	}
	return out
}

func (p *execution) result() Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	phases := append([]PhaseResult(nil), p.phases...)
	return Result{Name: p.Name, Title: p.Title, Phases: phases, Total: load.Sum("all", watched(phases)...)}
}

// locked serializes the writes of scenarios that run in parallel, so lines are not mixed.
type locked struct{ *Runner }

func (l locked) Write(text []byte) (int, error) {
	l.print.Lock()
	defer l.print.Unlock()
	return l.Out.Write(text)
}

func or(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

func errorOf(text string) error {
	if text == "" {
		return nil
	}
	return errors.New(text)
}
