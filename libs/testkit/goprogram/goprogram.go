// Package goprogram builds programs of this repository, once per test binary, and runs them as processes.
//
// Package watchdog removes all processes and files when the test binary exits, even if it is killed.
package goprogram

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// Program is a built program.
type Program struct {
	Path string

	marker string // in the environment of its processes
}

var built = struct {
	sync.Mutex
	programs map[string]Program // by package
}{programs: map[string]Program{}}

// Build builds the program of a package in the module under test or its requirements. The go command caches builds, so
// all but the first take well below a second.
func Build(ctx context.Context, pkg string) (Program, error) {
	built.Lock()
	defer built.Unlock()
	if p, ok := built.programs[pkg]; ok {
		return p, nil
	}
	dir, err := watchdog.NewDirectory(watchdog.Options{Prefix: "flotilla-program-", Key: "FLOTILLA_PROGRAM"})
	if err != nil {
		return Program{}, err
	}
	p := Program{Path: filepath.Join(dir.Path, filepath.Base(pkg)), marker: dir.Marker}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", p.Path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return Program{}, errors.Join(fmt.Errorf("build %s: %w\n%s", pkg, err, strings.TrimSpace(string(out))), dir.Release())
	}
	built.programs[pkg] = p
	return p, nil
}

// Start runs the program with additional environment variables.
func (p Program) Start(environment []string, args ...string) (*proc.Child, error) {
	log, err := os.CreateTemp(filepath.Dir(p.Path), "*.log")
	if err != nil {
		return nil, fmt.Errorf("create a log: %w", err)
	}
	if err := log.Close(); err != nil {
		return nil, fmt.Errorf("create a log: %w", err)
	}
	cmd := exec.Command(p.Path, args...) //nolint:noctx // outlives the start
	cmd.Env = append(append(os.Environ(), environment...), p.marker)
	return proc.Start(cmd, log.Name())
}

// Start builds the program of a package and runs it until the end of the test. A failed test prints its output.
func Start(t testing.TB, pkg string, environment []string, args ...string) *proc.Child {
	t.Helper()
	p, err := Build(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Start(environment, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", filepath.Base(pkg), proc.Tail(c.Log, 50))
		}
	})
	return c
}

// Wait waits until the process exits, and returns its exit code and the end of its output.
func Wait(t testing.TB, c *proc.Child, timeout time.Duration) (int, string) {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-c.Ended():
	case <-timer.C:
		t.Fatalf("process still runs after %s", timeout)
	}
	return c.ExitCode(), proc.Tail(c.Log, 50)
}
