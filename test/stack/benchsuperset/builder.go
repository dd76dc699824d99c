package main

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

const (
	operatorName   = "superset-operator"
	aggregatorName = "status-aggregator"
)

// builder makes labs out of a checkout.
type builder struct {
	root   string // of the checkout
	dir    string // for everything that is written
	marker string // stands in the environment of every process of a lab
	tools  controlplane.Tools
}

// build compiles the services that the scenarios run.
func (b *builder) build(ctx context.Context, chosen []scenario) error {
	services := map[string]bool{operatorName: true}
	for _, s := range chosen {
		services[aggregatorName] = services[aggregatorName] || s.aggregator
	}
	for name, needed := range services {
		if !needed {
			continue
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-o", b.binary(name), "./cmd/"+name)
		cmd.Dir = filepath.Join(b.root, "services", name)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		// Compilers are signalled with the go command that runs them.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
		cmd.WaitDelay = 5 * time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}

func (b *builder) binary(service string) string {
	return filepath.Join(b.dir, service)
}

// within runs a scenario in a lab of its own.
func (b *builder) within(ctx context.Context, s scenario, f *figures) (err error) {
	note("--- %s", s.name)
	ctx, cancel := context.WithCancelCause(ctx)
	l := &lab{builder: b, dir: filepath.Join(b.dir, s.name), end: cancel}
	defer func() {
		// A program that ended by itself is the reason for all that failed after it.
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
			err = cause
		}
		if err != nil && !l.leaving.Load() {
			for _, p := range l.programs {
				note("--- end of the log of %s\n%s", p.name, p.tail())
			}
		}
		l.leaving.Store(true)
		err = errors.Join(err, l.stop(context.WithoutCancel(ctx)))
		cancel(nil)
	}()
	if err := l.start(ctx, s.aggregator); err != nil {
		return err
	}
	return s.run(ctx, l, f)
}
