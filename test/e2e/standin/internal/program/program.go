// Package program builds the stand-ins and runs them as processes, for their tests.
package program

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a stand-in that runs.
type Process struct {
	cmd    *exec.Cmd
	output *buffer
	ended  chan struct{}
}

// built is the program that Main has built.
var built string

// Main builds the program of a folder of cmd once, for all tests of a package, and runs them: it is for TestMain.
func Main(m *testing.M, name string) int {
	dir, err := os.MkdirTemp("", "standin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what stays is in the folder for what may be lost
	built = filepath.Join(dir, name)
	build := exec.CommandContext(context.Background(), "go", "build", "-o", built, "github.com/flotilla-dev/flotilla/test/e2e/standin/cmd/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// Start runs the program until the end of the test, whose clean-up kills it.
func Start(t testing.TB, environment []string, args ...string) *Process {
	t.Helper()
	p := &Process{cmd: exec.CommandContext(context.Background(), built, args...), output: &buffer{}, ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), environment...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() //nolint:errcheck // ProcessState says how it ended
		close(p.ended)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() //nolint:errcheck // it may have ended
		<-p.ended
		if t.Failed() {
			t.Logf("%s said:\n%s", filepath.Base(built), p.output)
		}
	})
	return p
}

// Signal sends a signal.
func (p *Process) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

// Wait returns the exit status and all that was said, when the process has ended.
func (p *Process) Wait(t testing.TB, patience time.Duration) (int, string) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		t.Fatalf("it runs on after %s", patience)
	}
	return p.cmd.ProcessState.ExitCode(), p.output.String()
}

// Running is nil as long as the process runs.
func (p *Process) Running() error {
	select {
	case <-p.ended:
		return fmt.Errorf("it has ended: %s", p.output)
	default:
		return nil
	}
}

type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
