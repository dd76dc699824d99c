// Package run runs scenarios: it executes their phases, sets the phase of the load generator, records the timeline, and
// prints one line for the result of each scenario.
package run

import (
	"context"
	"time"

	"github.com/flotilla-dev/flotilla/test/e2e/load"
	"github.com/flotilla-dev/flotilla/test/e2e/timeline"
)

// Scenario is a sequence of phases that must succeed. The context of its steps ends after Limit.
type Scenario struct {
	Name  string
	Title string        // the statement that it verifies, for the report
	Limit time.Duration // timeout of Prepare and all phases, without Clean
	// Services lists the services that the scenario tests, by their directories in services.
	Services []string

	// Watch lists the resources whose conditions the report shows.
	Watch []timeline.Object
	// Prepare creates what the phases need and returns the load generators; nil: none.
	Prepare func(context.Context, *Step) (Loadgen, error)
	Phases  []Phase
	// Evaluate checks the counts of the phases without an expected outage; nil: NoFailure. It can add notes to the report.
	Evaluate func(*Step, []load.Figures) error
	// Clean deletes the objects of the scenario. It also runs after a failure, with a timeout of its own.
	Clean func(context.Context, *Step) error
	// CleanLimit is the timeout of Clean; 0: the default of the runner.
	CleanLimit time.Duration
}

// Phase is a part of a scenario with separate figures.
type Phase struct {
	Name string
	// Outage allows failed answers in this phase, for example while the engine is stopped.
	Outage bool
	Do     Action
}

// Loadgen sends requests while the phases run.
type Loadgen interface {
	Reset(ctx context.Context, phase string) ([]load.Figures, error)
	Phase(ctx context.Context, phase string) ([]load.Figures, error)
	Figures(ctx context.Context) ([]load.Figures, error)
}

// Result is the outcome of a scenario.
type Result struct {
	Name      string            `json:"name"`
	Title     string            `json:"title"`
	Problem   string            `json:"problem,omitempty"` // empty: passed
	Waited    string            `json:"waited,omitempty"`  // the last wait of a failed scenario
	StartedAt time.Time         `json:"began"`
	Seconds   float64           `json:"seconds"`
	Phases    []PhaseResult     `json:"phases"`
	Total     load.Figures      `json:"total"` // of all phases without an expected outage
	Changes   []timeline.Change `json:"changes"`
	Notes     []string          `json:"notes,omitempty"`
}

// PhaseResult is the outcome of a phase.
type PhaseResult struct {
	Name      string        `json:"name"`
	Outage    bool          `json:"outage,omitempty"`
	StartedAt time.Time     `json:"began"`
	Seconds   float64       `json:"seconds"`
	Load      *load.Figures `json:"asked,omitempty"` // nil: no load generator
}

// OK reports whether the scenario passed.
func (r Result) OK() bool { return r.Problem == "" }
