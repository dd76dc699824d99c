package docs

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

func TestReleasedModulesHaveChangelogs(t *testing.T) {
	released := 0
	for line := range strings.Lines(read(t, "modules.txt")) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "yes" {
			continue
		}
		released++
		if text := read(t, f[0]+"/CHANGELOG.md"); !strings.Contains(text, "\n## [Unreleased]\n") {
			t.Errorf("%s/CHANGELOG.md has no heading [Unreleased]", f[0])
		}
		if kind := f[1]; kind == "service" && !strings.Contains(read(t, "docs/compatibility.md"), "| "+filepath.Base(f[0])+" |") {
			t.Errorf("docs/compatibility.md has no row for %s", f[0])
		}
	}
	if released == 0 {
		t.Error("found no released modules in modules.txt: the parser is broken")
	}
}

// A reader of a service's first page finds how to install it.
func TestServicesLinkInstallation(t *testing.T) {
	for _, service := range services {
		for _, name := range []string{"README.md", "docs/guide.md"} {
			from := path.Join("services", service, name)
			linked := map[string]bool{}
			for _, l := range pages(t)[from].Links {
				file, _, _ := strings.Cut(l.Target, "#")
				linked[path.Join(path.Dir(from), file)] = true
			}
			for _, to := range []string{"docs/installing.md", "deploy/charts/" + service} {
				if !linked[to] {
					t.Errorf("%s does not link %s", from, to)
				}
			}
		}
	}
}

func TestArchitectureListsDecisions(t *testing.T) {
	decisions, err := filepath.Glob(filepath.Join(root, "docs/adr/[0-9]*.md"))
	if err != nil || len(decisions) == 0 {
		t.Fatalf("no ADRs found: %v", err)
	}
	list := read(t, "ARCHITECTURE.md")
	for _, d := range decisions {
		if !strings.Contains(list, "](docs/adr/"+filepath.Base(d)+")") {
			t.Errorf("ARCHITECTURE.md does not list %s", filepath.Base(d))
		}
	}
}

func TestDecisionsHaveSections(t *testing.T) {
	decisions, err := filepath.Glob(filepath.Join(root, "docs/adr/[0-9]*.md"))
	if err != nil || len(decisions) == 0 {
		t.Fatalf("no ADRs found: %v", err)
	}
	for _, d := range decisions {
		text := "\n" + read(t, "docs/adr/"+filepath.Base(d))
		for _, section := range []string{"Context", "Decision", "Alternatives", "Consequences", "When to reconsider"} {
			_, rest, found := strings.Cut(text, "\n## "+section+"\n")
			if !found {
				t.Errorf("%s has no section %q after the previous one", filepath.Base(d), section)
				continue
			}
			if body, _, _ := strings.Cut(rest, "\n## "); strings.TrimSpace(body) == "" {
				t.Errorf("%s: section %q is empty", filepath.Base(d), section)
			}
			text = "\n" + rest
		}
	}
}

func TestReadmesListLibraryPackages(t *testing.T) {
	for _, library := range []string{"libs/kube", "libs/testkit"} {
		list := read(t, library+"/README.md")
		packages := 0
		err := filepath.WalkDir(filepath.Join(root, library), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && (d.Name() == "internal" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			name, err := filepath.Rel(filepath.Join(root, library), filepath.Dir(path))
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || name == "." {
				return err
			}
			packages++
			name = filepath.ToSlash(name)
			if !strings.Contains(list, "["+name+"]("+name+")") {
				t.Errorf("%s/README.md does not list %s", library, name)
			}
			return nil
		})
		if err != nil || packages == 0 {
			t.Fatalf("no packages in %s: %v", library, err)
		}
	}
}
