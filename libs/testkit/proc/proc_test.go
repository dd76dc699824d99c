package proc_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

func sleeper(t *testing.T, script string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), env...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestZombieIsNotAlive(t *testing.T) {
	cmd := sleeper(t, "exit 0")
	// The test does not wait for the process yet, so it stays a zombie.
	expect.Eventually(t, expect.Long, func() error {
		if proc.Alive(cmd.Process.Pid) {
			return fmt.Errorf("process %d is reported as alive", cmd.Process.Pid)
		}
		return nil
	})
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAliveRejectsImpossiblePIDs(t *testing.T) {
	if !proc.Alive(os.Getpid()) {
		t.Error("this process is not alive")
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if proc.Alive(pid) {
			t.Errorf("process %d is alive", pid)
		}
	}
}

func TestMarkedMatchesWholeMarker(t *testing.T) {
	marker := fmt.Sprintf("PROC_TEST=%d;", os.Getpid())
	cmd := sleeper(t, "exec sleep 1000", marker)
	pid := cmd.Process.Pid
	expect.Eventually(t, expect.Long, func() error {
		pids, err := proc.Marked(marker)
		if err != nil || !slices.Equal(pids, []int{pid}) {
			return fmt.Errorf("marked are %v instead of %d: %w", pids, pid, err)
		}
		return nil
	})
	for _, other := range []string{marker[:len(marker)-1], marker[1:], marker + "x", "PROC_TEST="} {
		if proc.Has(pid, other) {
			t.Errorf("%q matches the process of %q", other, marker)
		}
	}
	if n, err := proc.KillMarked(t.Context(), marker); n != 1 || err != nil {
		t.Errorf("killed %d, %v", n, err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
}

func TestTerminateKillsProcessIgnoringSIGTERM(t *testing.T) {
	for name, script := range map[string]string{
		"a process that exits on SIGTERM":   "exec sleep 1000",
		"a process that ignores the signal": "trap '' TERM; while :; do sleep 0.05; done",
	} {
		t.Run(name, func(t *testing.T) {
			cmd := sleeper(t, script)
			if err := proc.Terminate(t.Context(), cmd.Process.Pid, 300*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			if proc.Alive(cmd.Process.Pid) {
				t.Error("the process is still alive")
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the process exited without a signal")
			}
		})
	}
}

func TestKillWaitsForExit(t *testing.T) {
	cmd := sleeper(t, "trap '' TERM; while :; do sleep 1; done")
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	if err := proc.Kill(t.Context(), cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if proc.Alive(cmd.Process.Pid) {
		t.Error("the process is alive after Kill")
	}
	if err := <-waited; err == nil {
		t.Error("the process exited without a signal")
	}
}

func TestMarkedFindsProcessAcrossExec(t *testing.T) {
	const marker = "FLOTILLA_PROC_TEST=exec"
	// Each shell replaces itself with the next one, so that many reads happen during an exec.
	const reexec = `n=$1; [ "$n" -gt 0 ] || exec sleep 1000; exec sh -c "$2" sh $((n - 1)) "$2"`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", reexec, "sh", "300", reexec)
	cmd.Env = append(os.Environ(), marker)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for reads := range 3000 {
		if !proc.Has(cmd.Process.Pid, marker) {
			t.Fatalf("read %d did not find the marker", reads)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process exited without a signal")
	}
}
