package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/cluster"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// childVar turns this test binary into a process that holds a cluster until it is killed.
const childVar = "CLUSTER_TEST_CHILD"

// settleTime is longer than a complete start takes.
const settleTime = 5 * time.Second

func child() error {
	fmt.Println("starting")
	c, err := cluster.StartForTest(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(c.MarkerOf())
	_, err = os.Stdin.Read(make([]byte, 1))
	return err
}

// holder is a process that holds a cluster in a temporary directory of its own.
type holder struct {
	cmd *exec.Cmd
	out *bufio.Reader
	tmp string
}

func startHolder(t *testing.T) holder {
	t.Helper()
	h := holder{cmd: exec.Command(os.Args[0]), tmp: t.TempDir()} //nolint:noctx // it is killed on purpose
	h.cmd.Env = append(os.Environ(), childVar+"=1", "TMPDIR="+h.tmp)
	h.cmd.Stderr = os.Stderr
	in, err := h.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewReader(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.line(t)
	return h
}

func (h holder) line(t *testing.T) string {
	t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (h holder) kill(t *testing.T) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Wait(); err == nil {
		t.Fatal("the process exited without a signal")
	}
}

// directory waits for the directory of the cluster and returns it.
func (h holder) directory(t *testing.T) string {
	t.Helper()
	var dirs []string
	expect.Eventually(t, expect.Long, func() error {
		var err error
		if dirs, err = filepath.Glob(filepath.Join(h.tmp, "flotilla-cluster-*")); err != nil || len(dirs) == 0 {
			return fmt.Errorf("no directory: %w", err)
		}
		return nil
	})
	return dirs[0]
}

func wantRemoved(t *testing.T, dir string) {
	t.Helper()
	expect.Eventually(t, expect.Long, func() error {
		pids, err := proc.Marked(cluster.MarkerPrefix + dir + ";")
		if err != nil {
			return err
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v are left", pids)
		}
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			return fmt.Errorf("the directory is left: %w", err)
		}
		return nil
	})
}

func TestClusterStopsWhenTestIsKilled(t *testing.T) {
	h := startHolder(t)
	marker := h.line(t)
	pids, err := proc.Marked(marker)
	if err != nil || len(pids) < 5 {
		t.Fatalf("a cluster of processes %v, %v", pids, err)
	}
	h.kill(t)
	wantRemoved(t, h.directory(t))
}

func TestClusterStopsWhenTestIsKilledDuringStart(t *testing.T) {
	h := startHolder(t)
	dir := h.directory(t)
	expect.Eventually(t, expect.Long, func() error {
		if pids, err := proc.Marked(cluster.MarkerPrefix + dir + ";"); err != nil || len(pids) == 0 {
			return fmt.Errorf("nothing runs yet: %w", err)
		}
		return nil
	})
	h.kill(t)
	wantRemoved(t, dir)
	// kwokctl was running when the test crashed; it must not continue.
	expect.Never(t, settleTime, func() error {
		if pids, err := proc.Marked(cluster.MarkerPrefix + dir + ";"); err != nil || len(pids) > 0 {
			return fmt.Errorf("processes %v exist again: %w", pids, err)
		}
		return nil
	})
}
