package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Child is a program that Start started. It outlives this process unless it is stopped (see package watchdog).
type Child struct {
	PID int
	Log string // file with all that it printed

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program and appends its output to a file. The program runs in a session of its own: Ctrl-C signals only
// this process, which stops its children in order.
func Start(cmd *exec.Cmd, log string) (*Child, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", cmd.Path, err)
	}
	cmd.Stdout, cmd.Stderr = file, file
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	err = cmd.Start()
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	c := &Child{PID: cmd.Process.Pid, Log: log, cmd: cmd, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() //nolint:errcheck // ProcessState has the exit status
		close(c.ended)
	}()
	return c, nil
}

// Ended returns a channel that is closed when the process has exited.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Running returns nil while the process runs. Afterwards the error has its exit status and the end of its log.
func (c *Child) Running() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%s ended (%s):\n%s", filepath.Base(c.cmd.Path), c.cmd.ProcessState, Tail(c.Log, 20))
	default:
		return nil
	}
}

// ExitCode returns the exit code of an exited process, or -1 if a signal terminated it.
func (c *Child) ExitCode() int { return c.cmd.ProcessState.ExitCode() }

// Signal sends a signal. It ignores a process that has already exited.
func (c *Child) Signal(s syscall.Signal) {
	_ = c.cmd.Process.Signal(s) //nolint:errcheck // see above
}

// Kill sends SIGKILL and waits until the process has exited.
func (c *Child) Kill() {
	c.Signal(syscall.SIGKILL)
	<-c.ended
}

// Tail returns the last lines of a log, or the error of reading it.
func Tail(log string, lines int) string {
	data, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Output runs a command and returns its standard output. An error has its standard error, without surrounding space.
func Output(cmd *exec.Cmd) ([]byte, error) {
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out.Bytes(), nil
}

// Go returns the go command in the directory of a module, outside the workspace.
func Go(ctx context.Context, module string, args ...string) *exec.Cmd {
	return Group(ctx, module, "go", args...)
}

// Group returns a command in a process group of its own. When ctx ends, the whole group gets SIGTERM, for example
// the compilers that the go command started.
func Group(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
