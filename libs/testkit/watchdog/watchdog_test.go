package watchdog_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// childDir names the variable that turns this test binary into a guarded process.
const childDir = "WATCHDOG_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := child(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func marker(dir string) string { return watchdog.Marker("WATCHDOG_TEST", dir) }

// child guards a long-running process, prints a line, and waits to be killed.
func child(dir string) error {
	if _, err := watchdog.Start(watchdog.Cleanup{Marker: marker(dir), Dir: dir}); err != nil {
		return err
	}
	if _, err := startMarked(dir); err != nil {
		return err
	}
	fmt.Println("ready")
	_, err := os.Stdin.Read(make([]byte, 1))
	return err
}

// startMarked starts a shell that ignores SIGTERM, SIGINT and SIGHUP and has a child process.
func startMarked(dir string) (*exec.Cmd, error) {
	cmd := exec.Command("sh", "-c", `trap '' TERM INT HUP; sleep 1000; sleep 1000`) //nolint:noctx // only the watchdog ends it
	cmd.Env = append(os.Environ(), marker(dir))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, cmd.Start()
}

func wantCleanedUp(t *testing.T, dir string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		pids, err := proc.Marked(marker(dir))
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v are left", pids)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			return fmt.Errorf("directory %s is left: %w", dir, err)
		}
		return nil
	})
}

func TestGuardCleansUpWhenProcessEnds(t *testing.T) {
	cases := map[string]syscall.Signal{
		"when it is killed":      syscall.SIGKILL,
		"when it is interrupted": syscall.SIGINT,
		"when it is terminated":  syscall.SIGTERM,
	}
	for name, signal := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), childDir+"="+dir)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil || strings.TrimSpace(line) != "ready" {
				t.Fatalf("the child printed %q, %v", line, err)
			}
			if pids, err := proc.Marked(marker(dir)); err != nil || len(pids) == 0 {
				t.Fatalf("nothing to guard: %v, %v", pids, err)
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the child exited normally, so it got no signal")
			}
			if err := in.Close(); err != nil {
				t.Logf("close the child's input: %v", err)
			}
			wantCleanedUp(t, dir)
		})
	}
}

func TestReleaseWaitsForCleanup(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker(dir), Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := startMarked(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Release(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	wantCleanedUp(t, dir)
	if err := guard.Release(); err != nil {
		t.Errorf("a second release: %v", err)
	}
}

func TestGuardKeepsForeignProcesses(t *testing.T) {
	own, other := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "a-and-more")
	cmd, err := startMarked(other)
	if err != nil {
		t.Fatal(err)
	}
	guard, err := watchdog.Start(watchdog.Cleanup{Marker: marker(own), Dir: own})
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Release(); err != nil {
		t.Fatal(err)
	}
	if !proc.Has(cmd.Process.Pid, marker(other)) {
		t.Error("a process with another marker was killed")
	}
	if _, err := proc.KillMarked(t.Context(), marker(other)); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
}

func TestStartRejectsMarkerWithoutKey(t *testing.T) {
	if _, err := watchdog.Start(watchdog.Cleanup{Marker: "x"}); err == nil {
		t.Error("a marker that any process may contain was accepted")
	}
}

// startUnreferenced starts a guard and drops its reference, like a package whose server lives as long as the process.
func startUnreferenced(t *testing.T, dir string) {
	t.Helper()
	if _, err := watchdog.Start(watchdog.Cleanup{Marker: marker(dir), Dir: dir}); err != nil {
		t.Fatal(err)
	}
}

func TestGuardSurvivesGarbageCollection(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	startUnreferenced(t, dir)
	cmd, err := startMarked(dir)
	if err != nil {
		t.Fatal(err)
	}
	expect.Never(t, time.Second, func() error {
		runtime.GC()
		if !proc.Alive(cmd.Process.Pid) {
			return errors.New("the guard was collected, and its watchdog cleaned up")
		}
		return nil
	})
	if _, err := proc.KillMarked(t.Context(), marker(dir)); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
}
