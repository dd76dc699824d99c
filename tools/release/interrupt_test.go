package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

// stub replaces the programs of the targets of .ci/run. A target in $HOLD forks, records its cgroup and, as root, mounts
// a tmpfs and a network namespace; on SIGTERM it removes both after a delay.
const stub = `#!/usr/bin/env bash
[[ " $HOLD " = *" $1 "* ]] || exit 0
dir=$STUB/$1 told=
mkdir "$dir"
trap told=yes TERM INT # of make, of the process group, or of both
grep -o 'flotilla-cpu-[0-9]*' /proc/self/cgroup | sort -u > "$STUB/cgroup-$1"
if [ "$(id -u)" -eq 0 ]; then
  mkdir "$dir/mount"
  mount -t tmpfs none "$dir/mount"
  touch "$dir/namespace"
  unshare --net="$dir/namespace" true
fi
bash -c 'sleep 1000 & sleep 1000' &
touch "$STUB/running-$1"
while [ -z "$told" ]; do wait; done
trap '' TERM INT
read -rt 0.5 <> <(:) # others have ended by now
[ "$(id -u)" -ne 0 ] || umount "$dir/namespace" "$dir/mount"
rm -rf "$dir"
`

// ci is a checkout with .ci/run, whose targets are stubs.
type ci struct {
	t      *testing.T
	dir    string // of the checkout
	stub   string // directory of files that the stubs write
	temp   string
	marker string
	script string
}

func newCI(t *testing.T) *ci {
	t.Helper()
	top, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	c := &ci{t: t, dir: t.TempDir(), stub: t.TempDir(), temp: t.TempDir()}
	c.marker = "FLOTILLA_INTERRUPTED=" + c.stub
	copied := exec.CommandContext(t.Context(), "cp", "-r", "--parents", ".ci/run", "hack/cpu-weight", "hack/end", "hack/stage", c.dir)
	copied.Dir = top
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.script = filepath.Join(c.dir, ".ci", "run")
	c.write("stub", stub)
	c.write("Makefile", "verify lint tools test e2e vuln:\n\t@./stub $@\n")
	t.Cleanup(c.clean)
	return c
}

func (c *ci) write(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// interrupt starts the script, waits until the held targets run, sends the signal, and waits until the script exits.
func (c *ci) interrupt(signal syscall.Signal, held ...string) {
	c.t.Helper()
	cmd := exec.Command(c.script) //nolint:noctx // the signal terminates it
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+c.temp, "HOLD="+strings.Join(held, " "), "STUB="+c.stub, c.marker, "MAKEFLAGS=", "MAKELEVEL=")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	for _, target := range held {
		waitFor(c.t, target+" runs", func() bool { return exists(filepath.Join(c.stub, "running-"+target)) })
	}
	if err := cmd.Process.Signal(signal); err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		c.t.Error("an interrupted run succeeded")
	}
}

// left lists the remaining resources of a run: processes, mounts and namespaces, cgroups, temporary files.
func (c *ci) left() []string {
	c.t.Helper()
	var left []string
	pids, err := proc.Marked(c.marker)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, pid := range pids {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil {
			left = append(left, fmt.Sprintf("process %d: %q", pid, line))
		}
	}
	for _, mount := range c.mounts() {
		left = append(left, "mount "+mount)
	}
	for _, group := range c.cgroups() {
		left = append(left, "cgroup "+group)
	}
	files, err := os.ReadDir(c.temp)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, file := range files {
		left = append(left, "file "+file.Name())
	}
	return left
}

// mounts lists the mounts below the directory of the stubs, which include namespaces that outlive their processes.
func (c *ci) mounts() []string {
	c.t.Helper()
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		c.t.Fatal(err)
	}
	var mounts []string
	for line := range strings.Lines(string(data)) {
		if at := strings.Fields(line)[4]; strings.HasPrefix(at, c.stub+"/") {
			mounts = append(mounts, at)
		}
	}
	return mounts
}

// cgroups lists the existing cgroups that a stub has recorded, except for that of the test itself.
func (c *ci) cgroups() []string {
	c.t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		c.t.Fatal(err)
	}
	noted, err := filepath.Glob(filepath.Join(c.stub, "cgroup-*"))
	if err != nil {
		c.t.Fatal(err)
	}
	var groups []string
	for _, file := range noted {
		names, err := os.ReadFile(file)
		if err != nil {
			c.t.Fatal(err)
		}
		for name := range strings.FieldsSeq(string(names)) {
			if strings.Contains(string(own), "/"+name+"\n") {
				continue
			}
			for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"} {
				if group := filepath.Join(parent, name); exists(group) {
					groups = append(groups, group)
				}
			}
		}
	}
	return groups
}

// clean removes the remaining resources of a run.
func (c *ci) clean() {
	if _, err := proc.KillMarked(context.Background(), c.marker); err != nil { // the test's context has ended
		c.t.Error(err)
	}
	for _, group := range c.cgroups() { // the kernel may still count killed processes
		waitFor(c.t, "no "+group, func() bool { return !exists(group) || syscall.Rmdir(group) == nil })
	}
	for _, mount := range c.mounts() {
		if err := syscall.Unmount(mount, syscall.MNT_DETACH); err != nil {
			c.t.Error(err)
		}
	}
}

func TestInterruptedRunLeavesNothing(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, held := range [][]string{{"verify"}, {"lint"}, {"tools"}, {"e2e", "test"}, {"test"}, {"vuln"}} {
			t.Run(signal.String()+" during "+strings.Join(held, " and "), func(t *testing.T) {
				t.Parallel()
				c := newCI(t)
				c.interrupt(signal, held...)
				if left := c.left(); len(left) > 0 {
					t.Errorf("left:\n%s", strings.Join(left, "\n"))
				}
			})
		}
	}
}

// If this user cannot create cgroups, the script waits for the process group only.
func TestInterruptedRunWithoutCgroupLeavesNothing(t *testing.T) {
	c := newCI(t)
	text, err := os.ReadFile("../../hack/cpu-weight")
	if err != nil {
		t.Fatal(err)
	}
	without := strings.Replace(string(text), `mkdir "$group"`, "false", 1)
	if without == string(text) {
		t.Fatal("hack/cpu-weight does not create a cgroup")
	}
	c.write("hack/cpu-weight", without)
	c.interrupt(syscall.SIGTERM, "e2e", "test")
	if left := c.left(); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}

// Without the trap of the script, the test finds the remaining resources, so the test above can fail.
func TestInterruptedRunWithoutTrapIsDetected(t *testing.T) {
	c := newCI(t)
	text, err := os.ReadFile(c.script)
	if err != nil {
		t.Fatal(err)
	}
	c.write(".ci/run", strings.ReplaceAll(string(text), "\ntrap ", "\n: "))
	c.interrupt(syscall.SIGTERM, "e2e", "test")
	left := strings.Join(c.left(), "\n")
	want := []string{"process ", "file "}
	if os.Geteuid() == 0 {
		want = append(want, "e2e/mount", "e2e/namespace")
	}
	for _, what := range want {
		if !strings.Contains(left, what) {
			t.Errorf("no %q among the remaining resources:\n%s", what, left)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
