package renderdiff

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var record = flag.String("record-release", "", "version whose renders are recorded in place of the previous release's, such as v0.2.0")

// heading begins the list of declared differences, under Unreleased.
const heading = "### Restarts pods"

const root = "testdata/release"

// Renders describes the renderer of a package and the cases of its golden files.
type Renders struct {
	Cases     []string // directories with inputs, such as testdata/minimal
	Inputs    []string // names of files that are inputs, such as engine.yaml; a case may lack some
	Changelog string   // path of the module's CHANGELOG.md
	// Render reads the inputs in a directory and returns the rendered files by name.
	Render func(t *testing.T, dir string) map[string][]byte
}

// Check fails if the output differs from that of the previous release and the changelog does not declare it.
func (r Renders) Check(t *testing.T) {
	t.Helper()
	if *record != "" {
		if err := r.record(t, *record); err != nil {
			t.Fatal(err)
		}
	}
	releases, err := filepath.Glob(root + "/*")
	if err != nil || len(releases) != 1 {
		t.Fatalf("%s holds %v, want exactly the previous release (run with -record-release VERSION at a release)", root, releases)
	}
	dirs, err := filepath.Glob(releases[0] + "/*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("%s holds no case, %v", releases[0], err)
	}
	changed := map[string]string{}
	for _, dir := range dirs {
		frozen, err := read(dir, r.Inputs)
		if err != nil {
			t.Fatal(err)
		}
		for name, how := range Differences(frozen, r.Render(t, dir)) {
			changed[name] = "in " + dir + " " + how
		}
	}
	changelog, err := os.ReadFile(r.Changelog)
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range Undeclared(changed, Declared(string(changelog))) {
		t.Errorf("%s", problem)
	}
}

// record writes the current inputs and output as the recorded release.
func (r Renders) record(t *testing.T, version string) error {
	t.Helper()
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	for _, from := range r.Cases {
		to := filepath.Join(root, version, filepath.Base(from))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		files := r.Render(t, from)
		for _, name := range r.Inputs {
			input, err := os.ReadFile(filepath.Join(from, name))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return err
			}
			files[name] = input
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(to, name), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the files of a directory that are not inputs.
func read(dir string, inputs []string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range entries {
		if slices.Contains(inputs, e.Name()) {
			continue
		}
		if out[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Differences describes for each differing file name how the two sets differ.
func Differences(before, now map[string][]byte) map[string]string {
	out := map[string]string{}
	for name, was := range before {
		is, there := now[name]
		switch {
		case !there:
			out[name] = "is no longer rendered"
		case !bytes.Equal(was, is):
			out[name] = "differs (-before +now):\n" + cmp.Diff(strings.Split(string(was), "\n"), strings.Split(string(is), "\n"))
		}
	}
	for name := range now {
		if _, there := before[name]; !there {
			out[name] = "is new"
		}
	}
	return out
}

// Declared returns the file names that a changelog declares as changed: those in
// backticks at the beginning of the items under the heading, within Unreleased.
func Declared(changelog string) []string {
	var out []string
	unreleased, listing := false, false
	for line := range strings.Lines(changelog) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "## "):
			unreleased, listing = strings.HasPrefix(line, "## [Unreleased]"), false
		case strings.HasPrefix(line, "### "):
			listing = unreleased && line == heading
		case listing && strings.HasPrefix(line, "- `"):
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "- `"), "`")
			out = append(out, name)
		}
	}
	return out
}

// Undeclared returns a message for each difference that is not declared.
func Undeclared(changed map[string]string, declared []string) []string {
	var out []string
	for name, how := range changed {
		if !slices.Contains(declared, name) {
			out = append(out, fmt.Sprintf("upgrading restarts pods or runs tasks: %s %s\nIf that is intended, give the reason in the changelog, in %q under Unreleased: - `%s`: ...", name, how, heading, name))
		}
	}
	slices.Sort(out)
	return out
}
