package benchlab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
)

// builder makes labs out of a checkout.
type builder struct {
	bench  Bench
	root   string // of the checkout
	dir    string // for everything that is written
	marker string // stands in the environment of every process of a lab
	tools  controlplane.Tools
}

// build compiles the services that the scenarios run.
func (b *builder) build(ctx context.Context, chosen []Scenario) error {
	services := map[string]bool{}
	for _, s := range chosen {
		services[b.bench.Operator.Name] = services[b.bench.Operator.Name] || !s.Bare
		services[aggregator.Name] = services[aggregator.Name] || s.Aggregator
	}
	for name, needed := range services {
		if !needed {
			continue
		}
		if out, err := b.command(ctx, name, "build", "-o", b.binary(name), "./cmd/"+name).CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

// command is the go command in the module of a service.
func (b *builder) command(ctx context.Context, service string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = filepath.Join(b.root, "services", service)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	// Compilers are signalled with the go command that runs them.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func (b *builder) binary(service string) string {
	return filepath.Join(b.dir, service)
}

// within runs a scenario in a lab of its own.
func (b *builder) within(ctx context.Context, s Scenario, f *Figures) (err error) {
	Note("--- %s", s.Name)
	ctx, cancel := context.WithCancelCause(ctx)
	l := &Lab{builder: b, dir: filepath.Join(b.dir, s.Name), end: cancel}
	if s.Bare {
		defer cancel(nil)
		return s.Run(ctx, l, f)
	}
	defer func() {
		// A program that ended by itself is the reason for all that failed after it.
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		if err != nil && !l.leaving.Load() {
			for _, p := range l.programs {
				Note("--- end of the log of %s\n%s", p.name, p.tail())
			}
		}
		l.leaving.Store(true)
		err = errors.Join(err, l.stop(context.WithoutCancel(ctx)))
		cancel(nil)
	}()
	if err := l.start(ctx, s); err != nil {
		return err
	}
	return s.Run(ctx, l, f)
}
