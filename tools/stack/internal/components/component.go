package components

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"

	"github.com/flotilla-dev/flotilla/tools/stack/internal/checkout"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/process"
	"github.com/flotilla-dev/flotilla/tools/stack/internal/state"
)

// Env is shared by all components.
type Env struct {
	Checkout checkout.Checkout
	State    *state.State
	Tools    controlplane.Tools
	Logf     func(format string, args ...any)
}

// Outcome is the result of Ensure.
type Outcome string

// The outcomes of Ensure.
const (
	Reused    Outcome = "already running"
	Started   Outcome = "started"
	Restarted Outcome = "restarted"
)

// Status is one line of `make status`.
type Status struct {
	Name    string
	PID     int // 0 if unknown
	Address string
	// Health is OK or the error.
	Health string
}

// OK is the health of a working component.
const OK = "ok"

// Component is a component of the stack.
type Component interface {
	Name() string
	// Ensure starts the component unless it already runs with the current configuration, and returns when it answers.
	Ensure(ctx context.Context) (Outcome, error)
	// Stop stops the component and keeps its data.
	Stop(ctx context.Context) error
	Status(ctx context.Context) []Status
	// Logs returns the component's log files by name.
	Logs() map[string]string
}

// portFunc returns the port for a use; see state.State.
type portFunc func(use string) (int, error)

// program is a component that consists of one process.
type program struct {
	name    string
	env     *Env
	spec    func(port portFunc) (process.Spec, error)
	address func() string
	healthy func(ctx context.Context) error
}

const (
	// timeout is how long a running process may be unhealthy before it is restarted.
	timeout = 15 * time.Second
	// startTimeout is how long a new process may take to become healthy.
	startTimeout = 90 * time.Second
)

func (p *program) Name() string { return p.name }

func (p *program) Logs() map[string]string {
	return map[string]string{p.name: p.env.Checkout.Log(p.name)}
}

func (p *program) Ensure(ctx context.Context) (Outcome, error) {
	spec, err := p.spec(p.env.State.Port)
	if err != nil {
		return "", err
	}
	current, err := spec.Current()
	if err != nil {
		return "", err
	}
	if current && p.wait(ctx, spec, timeout) == nil {
		return Reused, nil
	}
	outcome := Started
	if spec.PID() != 0 {
		outcome = Restarted
	}
	if err := spec.Stop(ctx); err != nil {
		return "", err
	}
	if spec, err = p.spec(p.env.State.Assign); err != nil {
		return "", err
	}
	if err := spec.Start(); err != nil {
		return "", err
	}
	if err := p.wait(ctx, spec, startTimeout); err != nil {
		return "", fmt.Errorf("%s does not become healthy (make logs S=%s): %w", p.name, p.name, err)
	}
	return outcome, nil
}

func (p *program) Stop(ctx context.Context) error {
	spec, err := p.spec(p.env.State.Port)
	if err != nil {
		return err
	}
	return spec.Stop(ctx)
}

// Kill kills the process and keeps all its files.
func (p *program) Kill(ctx context.Context) error {
	spec, err := p.spec(p.env.State.Port)
	if err != nil {
		return err
	}
	return spec.Kill(ctx)
}

func (p *program) Status(ctx context.Context) []Status {
	s := Status{Name: p.name, Health: "not running"}
	spec, err := p.spec(p.env.State.Port)
	switch {
	case err != nil:
		s.Health = err.Error()
	case spec.PID() != 0:
		s.PID, s.Address, s.Health = spec.PID(), p.address(), OK
		if err := p.healthy(ctx); err != nil {
			s.Health = err.Error()
		}
	}
	return []Status{s}
}

// wait returns when the process is healthy or has exited.
func (p *program) wait(ctx context.Context, spec process.Spec, timeout time.Duration) error {
	return await.Nil(ctx, timeout, 100*time.Millisecond, func(ctx context.Context) error {
		err := p.healthy(ctx)
		if err != nil && spec.PID() == 0 {
			return await.Stop(fmt.Errorf("process exited:\n%s", proc.Tail(spec.Log, 5)))
		}
		return err
	})
}

// answers returns nil if a GET of the URL returns 200.
func answers(ctx context.Context, url string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("get %s: %w", url, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, resp.Status)
	}
	return nil
}
