package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// pending returns the names of the checks that must run and stores their keys in keys.
func (c checkout) pending(keys map[string]string, args ...string) string {
	c.t.Helper()
	out, err := c.release(append([]string{"pending"}, args...)...)
	if err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(out) {
		name, key, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasSuffix(name, ":") {
			continue
		}
		names = append(names, name)
		keys[name] = key
	}
	return strings.Join(names, " ")
}

func TestPendingOmitsPassedChecks(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	c, keys := newCheckout(t), map[string]string{}
	checks := []string{"unit-contract=libs/contract", "unit-bus=libs/bus", "all=libs/contract,services/ingester", "page=docs/", "file=docs/a/page.md"}
	want := func(what, names string, args ...string) {
		t.Helper()
		if got := c.pending(keys, append(args, checks...)...); got != names {
			t.Errorf("%s: pending is %q, want %q", what, got, names)
		}
	}
	want("nothing has passed", "unit-contract unit-bus all page file")
	if out, err := c.release("passed", keys["unit-contract"], keys["unit-bus"], keys["page"], keys["file"]); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want("four have passed", "all")
	want("fresh", "unit-contract unit-bus all page file", "-fresh")

	c.write("libs/bus/new.go", "package bus\n")
	want("an uncommitted file", "unit-bus all")
	c.commit()
	want("the same, committed", "unit-bus all")
	if err := os.Remove(filepath.Join(c.dir, "libs/bus/new.go")); err != nil {
		t.Fatal(err)
	}
	want("an earlier content that has passed", "all")
	c.write("libs/contract/a.go", "package contract // changed\n")
	want("a required library", "unit-contract unit-bus all")
	c.git("checkout", "--quiet", ".")
	c.git("mv", "libs/contract/a.go", "libs/contract/b.go")
	want("another name", "unit-contract unit-bus all")
	c.git("reset", "--quiet", "--hard")
	c.write("libs/contract/CHANGELOG.md", "# Changelog\n")
	c.write("docs/CHANGELOG.md", "# Changelog\n")
	want("changelogs", "unit-contract unit-bus all")
	c.write("docs/a/page.md", "# Page\n")
	want("a page", "unit-contract unit-bus all page file")
	c.write("hack/test.sh", "exit 0\n")
	want("a shared script", "unit-contract unit-bus all page file")
}

func TestPendingKeepsIndex(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	c := newCheckout(t)
	c.write("libs/bus/new.go", "package bus\n")
	before := c.git("status", "--porcelain") + c.git("count-objects")
	c.pending(map[string]string{}, "unit=libs/bus")
	if after := c.git("status", "--porcelain") + c.git("count-objects"); after != before {
		t.Errorf("the checkout changed from\n%s\nto\n%s", before, after)
	}
}

func TestPendingIgnoresDamagedRecord(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("FLOTILLA_CACHE", cache)
	c, keys := newCheckout(t), map[string]string{}
	c.pending(keys, "unit=libs/bus")
	if err := os.MkdirAll(filepath.Join(cache, "passed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(cache, "passed", keys["unit"]), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := c.pending(keys, "unit=libs/bus"); got != "unit" {
		t.Errorf("pending is %q", got)
	}
}

func TestExportCopiesModuleInputs(t *testing.T) {
	c, dir := newCheckout(t), t.TempDir()
	c.write("hack/test.sh", "exit 0\n")
	c.write("README.md", "# Readme\n")
	if out, err := c.release("export", "-module", "libs/bus", "-dir", dir); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for path, want := range map[string]bool{
		"libs/bus/go.mod": true, "libs/contract/a.go": true, "hack/test.sh": true, "modules.txt": true,
		"services/ingester/go.mod": false, "README.md": false,
	} {
		if _, err := os.Stat(filepath.Join(dir, path)); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAffectedReportsDeletedModule(t *testing.T) {
	c := newCheckout(t)
	c.git("rm", "-r", "--quiet", "libs/bus")
	const want = "modules.txt lists libs/bus, but libs/bus has no go.mod: remove the row of a deleted module"
	if out, err := c.release("affected", "-base", "HEAD"); err == nil || !strings.Contains(err.Error()+out, want) {
		t.Errorf("error %v, want %q\n%s", err, want, out)
	}
}

func TestExportDetectsChangeSincePending(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	c, keys := newCheckout(t), map[string]string{}
	c.pending(keys, "unit:libs/bus=libs/bus")
	args := []string{"export", "-module", "libs/bus", "-key", keys["unit:libs/bus"], "-dir"}
	if out, err := c.release(append(args, t.TempDir())...); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.write("libs/contract/a.go", "package contract // changed\n")
	if out, err := c.release(append(args, t.TempDir())...); err == nil || !strings.Contains(err.Error(), "libs/bus changed") {
		t.Errorf("error %v, output %s", err, out)
	}
}

func TestChecksRejectInvalidArguments(t *testing.T) {
	t.Setenv("FLOTILLA_CACHE", t.TempDir())
	c := newCheckout(t)
	tests := map[string][]string{
		"a check is NAME=INPUT":                 {"pending", "unit"},
		`modules.txt has no module "libs/gone"`: {"pending", "unit=libs/gone"},
		`modules.txt has no module "libs/lost"`: {"export", "-module", "libs/lost", "-dir", t.TempDir()},
		"is not a key":                          {"passed", "../../etc/passwd"},
		"fetch more of the history":             {"affected", "-base", "v9"},
	}
	for want, args := range tests {
		if out, err := c.release(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q; output %s", args, err, want, out)
		}
	}
}
