package proc

import (
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

// Child is a program that Start started. It outlives this process unless something ends it (see package watchdog).
type Child struct {
	PID int
	Log string // file with all that it printed

	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program with its output at the end of a file. It runs in a session of its own: Ctrl-C goes to this
// process, which ends its children in order.
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
		_ = cmd.Wait() //nolint:errcheck // the state of the process says how it ended
		close(c.ended)
	}()
	return c, nil
}

// Ended is closed when the process has exited.
func (c *Child) Ended() <-chan struct{} { return c.ended }

// Running returns nil while the process runs, then how it ended and the end of its log.
func (c *Child) Running() error {
	select {
	case <-c.ended:
		return fmt.Errorf("%s ended (%s):\n%s", filepath.Base(c.cmd.Path), c.cmd.ProcessState, Tail(c.Log, 20))
	default:
		return nil
	}
}

// ExitCode is the exit status of a process that has ended, -1 when a signal ended it.
func (c *Child) ExitCode() int { return c.cmd.ProcessState.ExitCode() }

// Signal sends a signal. A process that has already ended is not an error.
func (c *Child) Signal(s syscall.Signal) {
	_ = c.cmd.Process.Signal(s) //nolint:errcheck // see above
}

// Kill sends SIGKILL and waits until the process has exited.
func (c *Child) Kill() {
	c.Signal(syscall.SIGKILL)
	<-c.ended
}

// Tail returns the last lines of a log, or why there are none.
func Tail(log string, lines int) string {
	data, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Go returns the go command in the directory of a module, outside the workspace.
func Go(ctx context.Context, module string, args ...string) *exec.Cmd {
	return Group(ctx, module, "go", args...)
}

// Group is a command whose own children end with it when ctx does, as compilers do with the go command.
func Group(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
