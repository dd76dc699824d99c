// Package proc inspects processes through /proc: whether one is alive, its environment, and which ones carry a marker
// (see package watchdog). Linux only.
package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Alive reports whether a process runs. A zombie, which has ended and waits for its parent, does not.
func Alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The name of the command is in parentheses and may contain any character.
	end := strings.LastIndexByte(string(data), ')')
	return end >= 0 && !strings.HasPrefix(string(data)[end+1:], " Z")
}

const (
	// execTimeout bounds how long a process may have no environment. It has none during an exec, which can take long
	// on a busy machine.
	execTimeout = 5 * time.Second
	// maxExecReads is how often an environment without the marker is read again, since it may be incomplete.
	maxExecReads = 50
	execPoll     = time.Millisecond
)

// Has reports whether a living process has the marker, a whole KEY=value, in its environment. It detects that another
// process has reused the pid in a file. During an exec a process has no environment or only a part of it, so Has checks
// a living process repeatedly.
func Has(pid int, marker string) bool {
	deadline := time.NewTimer(execTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(execPoll)
	defer tick.Stop()
	for reads := 0; reads < maxExecReads; {
		environ := environment(pid)
		if contains(environ, marker) {
			return true
		}
		if !Alive(pid) {
			return false
		}
		if len(environ) > 0 {
			reads++
		}
		select {
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
	return false
}

// environment returns the environment of a living process. It is empty if the process has none or does not exist.
func environment(pid int) []byte {
	if !Alive(pid) {
		return nil
	}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	return data
}

func contains(environ []byte, marker string) bool {
	for entry := range strings.SplitSeq(string(environ), "\x00") {
		if entry == marker {
			return true
		}
	}
	return false
}

// Marked lists the living processes with the marker, except this one.
func Marked(marker string) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var pids []int
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() && contains(environment(pid), marker) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// KillMarked kills every process with the marker. It repeats until none is left, since a process may start another one
// before it is killed. It returns the number of killed processes.
func KillMarked(ctx context.Context, marker string) (int, error) {
	killed := map[int]bool{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		pids, err := Marked(marker)
		if err != nil || len(pids) == 0 {
			return len(killed), err
		}
		for _, pid := range pids {
			if err := signal(pid, syscall.SIGKILL); err != nil {
				return len(killed), err
			}
			killed[pid] = true
		}
		select {
		case <-ctx.Done():
			return len(killed), fmt.Errorf("processes %v do not end: %w", pids, ctx.Err())
		case <-tick.C:
		}
	}
}

// Terminate sends SIGTERM, waits for up to grace, and then kills the process. It returns when the process has exited.
func Terminate(ctx context.Context, pid int, grace time.Duration) error {
	if err := signal(pid, syscall.SIGTERM); err != nil {
		return err
	}
	graceCtx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if waitExit(graceCtx, pid) == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return Kill(ctx, pid)
}

// Kill sends SIGKILL and waits until the process has exited.
func Kill(ctx context.Context, pid int) error {
	if err := signal(pid, syscall.SIGKILL); err != nil {
		return err
	}
	return waitExit(ctx, pid)
}

func waitExit(ctx context.Context, pid int) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for Alive(pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end: %w", pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

func signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}
