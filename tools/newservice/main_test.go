package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
)

// inputs returns the parts of the checkout that make new-service reads: those in the row of modules.txt, and those that all
// suites have.
func inputs(t *testing.T) []string {
	t.Helper()
	for line := range strings.Lines(read(t, "../..", "modules.txt")) {
		if row := strings.Fields(line); len(row) > 3 && row[0] == "tools/newservice" {
			return append(row[3:], "tools/newservice/", "tools/controlplane/", "modules.txt", "go.work", "Makefile", "make/", "hack/")
		}
	}
	t.Fatal("modules.txt has no row of tools/newservice")
	return nil
}

// small returns the inputs that the program itself reads.
func small() []string {
	parts := []string{
		"libs/contract/", "services/superset-operator/go.mod", "services/superset-operator/go.sum",
		"services/superset-operator/api/go.mod", "services/superset-operator/api/go.sum", "deploy/charts/parts/",
		"deploy/charts/superset-operator/templates/",
	}
	for _, e := range edits {
		parts = append(parts, e.file)
	}
	return parts
}

// checkout returns a copy of parts of the checkout, committed to a repository of its own.
func checkout(t *testing.T, parts []string) string {
	t.Helper()
	root := t.TempDir()
	command(t, "../..", append([]string{"cp", "--archive", "--parents", "--target-directory=" + root}, parts...)...)
	command(t, root, "git", "init", "--quiet")
	command(t, root, "git", "add", "--all")
	command(t, root, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--message=start")
	return root
}

func command(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A new service builds, passes its tests against a control plane, and its charts render.
func TestNewServiceWorks(t *testing.T) {
	root := checkout(t, inputs(t))
	command(t, root, "make", "new-service", "NAME=widget-operator", "KIND=Widget")
	service := filepath.Join(root, "services/widget-operator")
	t.Run("build", func(t *testing.T) { command(t, service, "go", "build", "./...") })
	t.Run("charts", func(t *testing.T) {
		tools, err := controlplane.Find()
		if err != nil {
			t.Fatal(err)
		}
		for chart, want := range map[string]string{
			"widget-operator": "kind: Deployment", "widget-operator-crds": "name: widgets.widget.flotilla.dev",
		} {
			dir := filepath.Join(root, "deploy/charts", chart)
			command(t, root, tools.Path("helm"), "lint", "--strict", dir)
			if out := command(t, root, tools.Path("helm"), "template", "--namespace=flotilla-system", chart, dir); !strings.Contains(out, want) {
				t.Errorf("%s renders no %q:\n%s", chart, want, out)
			}
		}
	})
	t.Run("controller", func(t *testing.T) { command(t, service, "go", "test", "-count=1", "./...") })
	t.Run("lists", func(t *testing.T) {
		if work := command(t, root, "hack/workspace"); work != read(t, root, "go.work") || !strings.Contains(work, "./services/widget-operator/api\n") {
			t.Errorf("go.work differs from modules.txt:\n%s", work)
		}
		for _, e := range edits {
			if text := read(t, root, e.file); e.text != "" && !strings.Contains(strings.ToLower(text), "widget") {
				t.Errorf("%s does not name the service", e.file)
			}
		}
	})
	t.Run("taken", func(t *testing.T) {
		for want, args := range map[string][2]string{
			`NAME "widget-operator" is taken`: {"widget-operator", "Gadget"}, `KIND "Widget" exists`: {"gadget-operator", "Widget"},
		} {
			if err := run(root, args[0], args[1], ""); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

func read(t *testing.T, root, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Invalid input gets a message and writes nothing.
func TestInvalidInputWritesNothing(t *testing.T) {
	root := checkout(t, small())
	cases := map[string]struct{ name, kind, group, want string }{
		"no name":               {"", "Widget", "", "NAME is required"},
		"no kind":               {"widget-operator", "", "", "KIND is required"},
		"a capital":             {"Widget", "Widget", "", "must be at most 40 lower-case"},
		"a path":                {"../widget", "Widget", "", "must be at most 40 lower-case"},
		"a dash at the end":     {"widget-", "Widget", "", "must be at most 40 lower-case"},
		"too long":              {strings.Repeat("w", 41), "Widget", "", "must be at most 40 lower-case"},
		"a service":             {"superset-operator", "Widget", "", "is taken: services/superset-operator exists"},
		"a chart":               {"parts", "Widget", "", "is taken: deploy/charts/parts exists"},
		"a user of the bus":     {"reader", "Widget", "", "is a user of the bus"},
		"a lower-case kind":     {"widget-operator", "widget", "", "begin with a capital"},
		"a kind with a dash":    {"widget-operator", "Wid-get", "", "begin with a capital"},
		"an operator's kind":    {"widget-operator", "Superset", "", `KIND "Superset" exists`},
		"the ingester's kind":   {"widget-operator", "ModelFamily", "", `KIND "ModelFamily" exists`},
		"the same kind on bus":  {"widget-operator", "SuperSet", "", `KIND "SuperSet" exists`},
		"a keyword":             {"widget-operator", "Range", "", "cannot name a Go package"},
		"an imported package":   {"widget-operator", "Service", "", "cannot name a Go package"},
		"a group without a dot": {"widget-operator", "Widget", "widget", "GROUP"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := run(root, tc.name, tc.kind, tc.group); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
	if changed := command(t, root, "git", "status", "--porcelain"); changed != "" {
		t.Errorf("invalid input changed the checkout:\n%s", changed)
	}

	t.Run("uncommitted changes", func(t *testing.T) {
		if err := os.WriteFile(filepath.Join(root, "draft"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := run(root, "widget-operator", "Widget", ""); err == nil || !strings.Contains(err.Error(), "uncommitted changes (?? draft)") {
			t.Errorf("got %v, want the changed file", err)
		}
		if changed := command(t, root, "git", "status", "--porcelain"); changed != "?? draft\n" {
			t.Errorf("the checkout changed:\n%s", changed)
		}
	})
}

// An edit that no longer matches names its file, and nothing is written.
func TestLostPlaceOfEditWritesNothing(t *testing.T) {
	root := checkout(t, small())
	if err := os.WriteFile(filepath.Join(root, "CODEOWNERS"), []byte("* @other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command(t, root, "git", "-c", "user.name=test", "-c", "user.email=test@example.com", "commit", "--quiet", "--all", "--message=edit")
	if err := run(root, "widget-operator", "Widget", ""); err == nil || !strings.Contains(err.Error(), "CODEOWNERS: nothing matches") {
		t.Errorf("got %v, want the file", err)
	}
	if changed := command(t, root, "git", "status", "--porcelain"); changed != "" {
		t.Errorf("the checkout changed:\n%s", changed)
	}
}

func TestPlural(t *testing.T) {
	for word, want := range map[string]string{"widget": "widgets", "policy": "policies", "gateway": "gateways", "index": "indexes", "batch": "batches"} {
		if got := plural(word); got != want {
			t.Errorf("plural of %s is %s, want %s", word, got, want)
		}
	}
}

// Each template has the suffix that keeps the Go tools from compiling it.
func TestTemplatesHaveSuffix(t *testing.T) {
	err := fs.WalkDir(templates, "templates", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(path, ".tmpl") {
			t.Errorf("%s lacks the suffix .tmpl", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
