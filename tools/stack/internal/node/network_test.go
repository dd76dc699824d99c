package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Directories represent cgroups: the kernel refuses to remove a directory that is not empty, like a cgroup with processes.
func TestRemoveCgroup(t *testing.T) {
	root := filepath.Join(t.TempDir(), "group")
	if err := os.MkdirAll(filepath.Join(root, "inner", "most"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := removeCgroup(t.Context(), root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the cgroup still exists: %v", err)
	}
	if err := removeCgroup(t.Context(), root); err != nil {
		t.Errorf("a missing cgroup: got %v, want nil", err)
	}
}

// removeCgroup retries a cgroup with a terminating process until ctx ends.
func TestRemoveCgroupWaitsForProcess(t *testing.T) {
	root := filepath.Join("/sys/fs/cgroup/pids", "flotilla-test")
	if _, err := os.Stat(filepath.Dir(root)); err != nil {
		root = "/sys/fs/cgroup/flotilla-test"
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatalf("this test creates a cgroup, which requires root: %v", err)
	}
	sleeper, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "cgroup.procs"), []byte(strconv.Itoa(sleeper.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := removeCgroup(short, root); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a group with a process: %v", err)
	}
	removed := make(chan error)
	go func() { removed <- removeCgroup(t.Context(), root) }()
	if err := errors.Join(sleeper.Kill(), wait(sleeper)); err != nil {
		t.Fatal(err)
	}
	if err := <-removed; err != nil {
		t.Error(err)
	}
}

func wait(p *os.Process) error {
	_, err := p.Wait()
	return err
}
