package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newRepository creates a checkout with the scripts of this repository and three modules: one that passes, one that fails,
// and one that reads a file that its row in modules.txt does not list.
func newRepository(t *testing.T) checkout {
	t.Helper()
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("FRESH", "")
	t.Setenv("FLOTILLA_UNCHANGED", "")
	c := checkout{t: t, dir: t.TempDir()}
	c.git("init", "--quiet", "--initial-branch=main")
	copied := exec.CommandContext(t.Context(), "cp", "-r", "--parents", "hack", "tools/go.mod", "tools/go.sum", "tools/release", c.dir)
	copied.Dir = "../.."
	if out, err := copied.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.write("modules.txt", "libs/good lib yes\nlibs/bad lib yes\nlibs/reader lib yes\n")
	for name, test := range map[string]string{
		"good":   "",
		"bad":    "t.Fatal(\"no\")",
		"reader": "if _, err := os.Stat(\"../../README.md\"); err != nil { t.Fatal(err) }",
	} {
		c.write("libs/"+name+"/go.mod", gomod("libs/"+name))
		c.write("libs/"+name+"/a_test.go", "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\nfunc TestA(t *testing.T) {"+test+"}\n")
	}
	c.write("README.md", "# Readme\n")
	c.commit()
	return c
}

func (c checkout) script(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(c.t.Context(), "hack/test.sh", args...)
	cmd.Dir = c.dir
	return cmd
}

// tested runs hack/test.sh and returns its output and the tested modules.
func (c checkout) tested(want bool, args ...string) (string, string) {
	c.t.Helper()
	out, err := c.script(args...).CombinedOutput()
	if (err == nil) != want {
		c.t.Fatalf("hack/test.sh %v: %v\n%s", args, err, out)
	}
	var modules []string
	for line := range strings.Lines(string(out)) {
		if module, found := strings.CutPrefix(line, "TEST "); found {
			modules = append(modules, strings.Fields(module)[0])
		}
	}
	return string(out), strings.Join(modules, " ")
}

func TestTestScriptRepeatsOnlyFailedModules(t *testing.T) {
	c := newRepository(t)
	out, modules := c.tested(false)
	if len(strings.Fields(modules)) != 3 || !strings.Contains(out, "tests failed in:") {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
	if !strings.Contains(out, "stat ../../README.md: no such file") {
		t.Errorf("a file that modules.txt does not list exists:\n%s", out)
	}
	c.write("modules.txt", "libs/good lib yes\nlibs/bad lib yes\nlibs/reader lib yes README.md\n")
	if out, modules = c.tested(false); strings.Contains(out, "README.md: no such file") || len(strings.Fields(modules)) != 3 {
		t.Fatalf("a change of modules.txt must affect all modules; tested %q:\n%s", modules, out)
	}
	if out, modules = c.tested(false); modules != "libs/bad" || !strings.Contains(out, "unit:libs/good: unchanged since it passed here on ") {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
	c.write("libs/bad/a_test.go", "package a\n")
	c.write("README.md", "# Another\n")
	if out, modules = c.tested(true); modules != "libs/bad libs/reader" && modules != "libs/reader libs/bad" {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
	if out, modules = c.tested(true); modules != "" {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
	if out, modules = c.tested(true, "libs/good"); modules != "libs/good" {
		t.Fatalf("a named module must be tested: %q\n%s", modules, out)
	}
	t.Setenv("FRESH", "1")
	if out, modules = c.tested(true); len(strings.Fields(modules)) != 3 {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
}

// A clone of depth 1 lacks the base of a change, so hack/lint.sh would check no subject.
func TestLintScriptRejectsShallowClone(t *testing.T) {
	c := newRepository(t)
	c.write("README.md", "# Another\n")
	c.commit()
	base := strings.TrimSpace(c.git("rev-parse", "HEAD~1"))
	shallow := checkout{t: t, dir: t.TempDir()}
	shallow.git("clone", "--quiet", "--depth=1", "file://"+c.dir, ".")
	cmd := exec.CommandContext(t.Context(), "hack/lint.sh")
	cmd.Dir = shallow.dir
	cmd.Env = append(os.Environ(), "BASE="+base)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "run git fetch --unshallow") {
		t.Errorf("BASE=%s: %v, want advice:\n%s", base, err, out)
	}
}

func TestTestScriptReportsFailures(t *testing.T) {
	c := newRepository(t)
	report := filepath.Join(t.TempDir(), "failures")
	t.Setenv("FLOTILLA_FAILURES", report)
	c.write("libs/good/a_test.go", "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {\n"+
		"\tif os.Getenv(\"FLOTILLA_FAILURES\") != \"\" {\n\t\tt.Error(\"a test inherits the report\")\n\t}\n}\n")
	c.tested(false, "libs/bad")
	c.tested(false)
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"=== FAIL: . TestA", "a_test.go:10: no\n", "stat ../../README.md: no such file"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in the report of failures:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "inherits") {
		t.Error(string(text))
	}
}

// A module that reads the whole checkout is tested in place, where an edit can precede the record.
func TestTestScriptRepeatsModuleWhoseInputsChanged(t *testing.T) {
	c := newRepository(t)
	c.write("modules.txt", "libs/good lib yes\nlibs/bad lib yes\nlibs/reader lib yes *\n")
	c.write("libs/bad/a_test.go", "package a\n")
	edit := "if err := os.WriteFile(\"../../README.md\", []byte(\"# Edited\\n\"), 0o600); err != nil { t.Fatal(err) }"
	c.write("libs/reader/a_test.go", "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestA(t *testing.T) {"+edit+"}\n")
	out, modules := c.tested(true)
	if len(strings.Fields(modules)) != 3 || !strings.Contains(out, "libs/reader is tested again next time: its inputs changed during its tests") {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
	if !strings.Contains(out, "Slowest tests:\n") || !strings.Contains(out, "libs/good TestA ") {
		t.Errorf("the slowest tests are not listed:\n%s", out)
	}
	if out, modules = c.tested(true); modules != "libs/reader" {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
	if out, modules = c.tested(true); modules != "" {
		t.Fatalf("tested %q:\n%s", modules, out)
	}
}

// An interrupt also prints the failures until then.
func TestTestScriptCleansUpAfterInterrupt(t *testing.T) {
	c := newRepository(t)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c.write("libs/bad/a_test.go", "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Fatal(\"no\") }\n\n"+
		"func TestB(*testing.T) { select {} }\n\nfunc TestC(t *testing.T) { t.Parallel(); <-make(chan int) }\n")
	cmd := c.script()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const failure = "a_test.go:5: no\n"
	waitFor(t, "a test has failed", func() bool {
		files, err := filepath.Glob(filepath.Join(temp, "tmp.*", "libs-bad"))
		if err != nil || len(files) == 0 {
			return false
		}
		text, err := os.ReadFile(files[0])
		return err == nil && strings.Contains(string(text), failure)
	})
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the script succeeded")
	}
	if !strings.Contains(out.String(), failure) {
		t.Errorf("the failure is not printed:\n%s", out.String())
	}
	waitFor(t, "no process of the tests", func() bool {
		left, err := exec.CommandContext(t.Context(), "pgrep", "--full", temp).Output()
		return err != nil && len(left) == 0
	})
	if left, err := filepath.Glob(filepath.Join(temp, "tmp.*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCPUWeightReturnsExitCodeAndStopsChildren(t *testing.T) {
	const script = "../../hack/cpu-weight"
	err := exec.CommandContext(t.Context(), script, "50", "sh", "-c", "exit 3").Run()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("error %v, want exit code 3", err)
	}
	mark := filepath.Join(t.TempDir(), "running")
	cmd := exec.CommandContext(t.Context(), script, "50", "sh", "-c", "echo > "+mark+"; sleep 1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command runs", func() bool { _, err := os.Stat(mark); return err == nil })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("it succeeded")
	}
	waitFor(t, "no process", func() bool { return exec.CommandContext(t.Context(), "pgrep", "--full", mark).Run() != nil })
	for _, parent := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"} {
		group := fmt.Sprintf("%s/flotilla-cpu-%d", parent, cmd.Process.Pid)
		if _, err := os.Stat(group); err == nil {
			t.Errorf("%s is left", group)
		}
	}
}

// Commands share the CPU as their weights say only if each has a cgroup with its weight. Without the right to create one, a
// low weight is nice 19.
func TestCPUWeightSetsWeight(t *testing.T) {
	const show = `v1=/sys/fs/cgroup/cpu v2=/sys/fs/cgroup
if ! grep -q flotilla-cpu- /proc/self/cgroup; then
  nice
elif [ -e $v2/cgroup.controllers ]; then
  cat "$v2$(sed -n 's/^0:://p' /proc/self/cgroup)/cpu.weight"
else
  cat "$v1$(sed -nE 's/^[0-9]+:([^:]*,)?cpu(,[^:]*)?://p' /proc/self/cgroup)/cpu.shares"
fi`
	cases := map[string][]string{"50": {"50", "512"}, "100": {"100", "1024"}}
	if !createsCgroups(t) {
		cases = map[string][]string{"50": {"19"}, "100": {"0"}}
	}
	for weight, want := range cases {
		out, err := exec.CommandContext(t.Context(), "../../hack/cpu-weight", weight, "bash", "-c", show).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || !slices.Contains(want, got) {
			t.Errorf("weight %s: got %s, %v, want one of %v", weight, got, err, want)
		}
	}
}

// createsCgroups reports whether this user may create a cgroup for CPU.
func createsCgroups(t *testing.T) bool {
	t.Helper()
	parent := "/sys/fs/cgroup/cpu"
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		parent = "/sys/fs/cgroup"
	}
	dir := filepath.Join(parent, fmt.Sprintf("flotilla-cpu-test-%d", os.Getpid()))
	if os.Mkdir(dir, 0o755) != nil {
		return false
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	return true
}

func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for !is() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("not after two minutes: %s", what)
		}
	}
}
