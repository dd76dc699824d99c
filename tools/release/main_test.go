package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var testTime = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// checkout is a git repository with three modules: libs/contract, libs/bus, which requires it, and a service that
// requires both.
type checkout struct {
	t   *testing.T
	dir string
}

func newCheckout(t *testing.T) checkout {
	t.Helper()
	c := checkout{t: t, dir: t.TempDir()}
	c.git("init", "--quiet", "--initial-branch=main")
	c.write("modules.txt", "libs/contract lib yes\nlibs/bus lib yes\nservices/ingester service yes\ntest/docs test no *\n")
	c.write("libs/contract/go.mod", gomod("libs/contract"))
	c.write("libs/contract/a.go", "package contract\n")
	c.write("libs/bus/go.mod", gomod("libs/bus", "libs/contract"))
	c.write("services/ingester/go.mod", gomod("services/ingester", "libs/bus", "libs/contract"))
	for _, name := range []string{"ingester", "ingester-crds"} {
		c.write("deploy/charts/"+name+"/Chart.yaml", "apiVersion: v2\nname: "+name+"\nversion: 0.0.9\nappVersion: v0.0.9\n")
	}
	c.write("test/docs/go.mod", gomod("test/docs"))
	for _, m := range []string{"libs/contract", "libs/bus", "services/ingester"} {
		c.write(m+"/CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n- The first.\n")
	}
	c.commit()
	return c
}

func gomod(path string, required ...string) string {
	const prefix = "github.com/flotilla-dev/flotilla/"
	text := "module " + prefix + path + "\n\ngo 1.26.0\n"
	for _, r := range required {
		text += "\nrequire " + prefix + r + " v0.0.0\n\nreplace " + prefix + r + " => ../../" + r + "\n"
	}
	return text
}

func (c checkout) git(args ...string) string {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "git", append([]string{"-C", c.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull,
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func (c checkout) write(path, text string) {
	c.t.Helper()
	file := filepath.Join(c.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkout) read(path string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, filepath.FromSlash(path)))
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func (c checkout) commit() {
	c.t.Helper()
	c.git("add", "--all")
	c.git("commit", "--quiet", "--message", "change")
}

func (c checkout) release(args ...string) (string, error) {
	c.t.Helper()
	var out bytes.Buffer
	err := program{out: &out, notes: &out, root: c.dir, now: func() time.Time { return testTime }}.run(c.t.Context(), args)
	return out.String(), err
}

// tagged creates a release as docs/releasing.md describes, with the printed commands.
func (c checkout) tagged(path, version string) {
	c.t.Helper()
	if out, err := c.release("prep", "-module", path, "-version", version, "-write"); err != nil {
		c.t.Fatalf("changelog of %s: %v\n%s", path, err, out)
	}
	c.commit()
	out, err := c.release("prep", "-module", path, "-version", version, "-write")
	if err != nil {
		c.t.Fatalf("%s: %v\n%s", path, err, out)
	}
	ran := 0
	for line := range strings.Lines(out) {
		command, is := strings.CutPrefix(line, "  git ")
		if !is || strings.HasPrefix(command, "push") {
			continue
		}
		ran++
		shell := exec.CommandContext(c.t.Context(), "sh", "-c", "git -c user.name=ada -c user.email=ada@example.org "+command)
		shell.Dir = c.dir
		if out, err := shell.CombinedOutput(); err != nil {
			c.t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
	if ran == 0 {
		c.t.Fatalf("no commands in the output:\n%s", out)
	}
}

func TestPrepRequiresDependenciesFirst(t *testing.T) {
	c := newCheckout(t)
	out, err := c.release("prep", "-module", "services/ingester", "-version", "v0.1.0")
	if !errors.Is(err, errRefused) || !strings.Contains(out, "release libs/bus first") || !strings.Contains(out, "release libs/contract first") {
		t.Fatalf("error %v, output:\n%s", err, out)
	}
	c.tagged("libs/contract", "v0.1.0")
	c.tagged("libs/bus", "v0.1.0")
	c.tagged("services/ingester", "v0.1.0")

	if branch := strings.TrimSpace(c.git("branch", "--show-current")); branch != "main" {
		t.Errorf("the checkout is on branch %q", branch)
	}
	if text := c.read("libs/bus/go.mod"); !strings.Contains(text, "v0.0.0") || !strings.Contains(text, "replace") {
		t.Errorf("go.mod of the branch has changed:\n%s", text)
	}
	tagged := c.git("show", "libs/bus/v0.1.0:libs/bus/go.mod")
	if !strings.Contains(tagged, "libs/contract v0.1.0") || strings.Contains(tagged, "replace") {
		t.Errorf("go.mod of the tag still has replace lines:\n%s", tagged)
	}
	for _, name := range []string{"ingester", "ingester-crds"} {
		want := "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\nappVersion: v0.1.0\n"
		if got := c.git("show", "services/ingester/v0.1.0:deploy/charts/"+name+"/Chart.yaml"); got != want {
			t.Errorf("the tag has the chart\n%swant\n%s", got, want)
		}
	}
	if message := c.git("tag", "-n", "--list", "services/ingester/*"); !strings.Contains(message, "with libs/bus v0.1.0, libs/contract v0.1.0") {
		t.Errorf("message of the service's tag: %s", message)
	}
}

func TestPrepRequiresChangedDependenciesFirst(t *testing.T) {
	c := newCheckout(t)
	c.tagged("libs/contract", "v0.1.0")
	c.write("libs/bus/CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-11-22\n\n- The first.\n")
	c.write("libs/contract/a.go", "package contract // changed\n")
	c.commit()
	out, err := c.release("prep", "-module", "libs/bus", "-version", "v0.1.0")
	if !errors.Is(err, errRefused) || !strings.Contains(out, "release libs/contract first: 1 files changed since v0.1.0, such as libs/contract/a.go") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}

func TestPrepWritesNothingByDefault(t *testing.T) {
	c := newCheckout(t)
	for range 2 {
		out, err := c.release("prep", "-module", "libs/contract", "-version", "v0.1.0")
		if !errors.Is(err, errRefused) || !strings.Contains(out, "libs/contract/CHANGELOG.md has no entry under [0.1.0]") {
			t.Errorf("error %v, output:\n%s", err, out)
		}
	}
	if dirty := c.git("status", "--porcelain"); dirty != "" {
		t.Errorf("the checkout has changed:\n%s", dirty)
	}
	c.write("untracked.txt", "new")
	out, err := c.release("prep", "-module", "libs/contract", "-version", "v0.1.0", "-write")
	if !errors.Is(err, errRefused) || !strings.Contains(out, "the tree is not clean: commit or remove untracked.txt") {
		t.Errorf("error %v, output:\n%s", err, out)
	}
}

func TestAffectedIncludesUncommittedChanges(t *testing.T) {
	c := newCheckout(t)
	if out, err := c.release("affected", "-base", "main"); err != nil || out != "" {
		t.Errorf("nothing has changed: error %v, output %q", err, out)
	}
	c.git("switch", "--quiet", "--create", "work")
	c.git("mv", "libs/contract/a.go", "libs/contract/b c.go")
	c.commit()
	want := "libs/contract\nlibs/bus\nservices/ingester\ntest/docs\n"
	if out, err := c.release("affected", "-base", "main", "-names"); err != nil || out != want {
		t.Errorf("error %v, output %q", err, out)
	}
	c.git("switch", "--quiet", "main")
	c.write("services/ingester/new.go", "package main\n")
	want = "services/ingester\ntest/docs\n"
	if out, err := c.release("affected", "-base", "work", "-names"); err != nil || out != want {
		t.Errorf("changes of the other branch are included, or a new file is missing: error %v, output %q", err, out)
	}
}

func TestReleaseRejectsInvalidArguments(t *testing.T) {
	c := newCheckout(t)
	for want, args := range map[string][]string{
		"-base is missing":          {"affected"},
		"-version is missing":       {"prep", "-module", "libs/bus"},
		`unexpected argument "now"`: {"affected", "-base", "main", "now"},
		"-colour":                   {"affected", "-colour", "red"},
		"nowhere":                   {"affected", "-base", "nowhere"},
		"usage":                     {"publish"},
	} {
		if _, err := c.release(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q in it", args, err, want)
		}
	}
}
