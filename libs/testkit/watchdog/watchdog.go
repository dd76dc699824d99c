// Package watchdog removes what a process started as soon as that process ends, for any reason.
//
// A test binary can exit by a panic, by the timeout of go test, by Ctrl-C or by SIGKILL; none of them runs deferred
// functions. Therefore another process cleans up: a shell in a session of its own, which reads from a pipe whose only
// write end belongs to the guarded process. When the process exits, the kernel closes the pipe, and the shell reads the
// end of file and cleans up. Release uses the same path for a normal exit, so the tests cover it.
//
// The shell finds processes by a marker in their environment, not by pid files: a server that was starting when the test
// was killed has no pid file yet, but it has inherited the marker.
//
// Linux only, since it reads /proc.
package watchdog

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

//go:embed cleanup.sh
var script string

// Cleanup lists what to remove.
type Cleanup struct {
	// Marker is a whole KEY=value in the environment of every process to kill. It must be unique and must not be in
	// the environment of the guarded process itself; see Marker.
	Marker string
	// Dir is removed with all its contents after the processes have exited.
	Dir string
	// Containers are the names of Docker containers to remove.
	Containers []string
}

// Marker builds a marker from a key and a unique value. The closing semicolon keeps one value from being a prefix of
// another.
func Marker(key, value string) string {
	return key + "=" + value + ";"
}

// Guard watches the calling process and cleans up after it.
type Guard struct {
	once sync.Once
	pipe io.Closer
	cmd  *exec.Cmd
	err  error
}

// Start starts the watchdog. Call it before starting the first marked process.
func Start(c Cleanup) (*Guard, error) {
	if !strings.Contains(c.Marker, "=") {
		return nil, fmt.Errorf("watchdog marker %q is not KEY=value", c.Marker)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the watchdog's pipe: %w", err)
	}
	args := append([]string{"-c", script, "flotilla-watchdog", c.Marker, c.Dir}, c.Containers...)
	cmd := exec.Command("sh", args...) //nolint:noctx // a fixed script that must outlive every context
	cmd.Dir = "/"
	cmd.Stdin = read
	// In a session of its own, the shell does not receive Ctrl-C or SIGHUP of a closing terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	if closeErr := read.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the watchdog: %w", err), write.Close())
	}
	g := &Guard{pipe: write, cmd: cmd}
	guards.Store(g, nil)
	return g, nil
}

// guards keeps every guard reachable. The collection of an unreachable guard would
// close the pipe, and the watchdog would clean up while the process still runs.
var guards sync.Map

// Release cleans up and returns when everything is removed. Further calls return the result of the first.
func (g *Guard) Release() error {
	g.once.Do(func() {
		guards.Delete(g)
		if err := g.pipe.Close(); err != nil {
			g.err = fmt.Errorf("close the watchdog's pipe: %w", err)
			return
		}
		if err := g.cmd.Wait(); err != nil {
			g.err = fmt.Errorf("watchdog could not clean up: %w", err)
		}
	})
	return g.err
}
