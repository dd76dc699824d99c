package architecture

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
)

// maxModules is the maximum number of modules besides those of the services and their APIs: each has a go.mod to tidy, lint
// and update separately.
const maxModules = 11

// apart is the module that scripts skip: it only pins versions and has no code.
const apart = "tools/controlplane"

// kinds returns the kinds of the modules in modules.txt that are not suites.
func kinds(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../modules.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] != "#" && f[1] != "suite" {
			out[f[0]] = f[1]
		}
	}
	return out
}

func TestModulesAreListed(t *testing.T) {
	listed, found := kinds(t), 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") && path != "../.." {
			return filepath.SkipDir
		}
		if d.Name() != "go.mod" {
			return nil
		}
		found++
		dir, err := filepath.Rel("../..", filepath.Dir(path))
		if err == nil && dir != apart && listed[filepath.ToSlash(dir)] == "" {
			t.Errorf("modules.txt lacks %s", dir)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	others := found
	for _, kind := range listed {
		if kind == "service" || kind == "api" {
			others--
		}
	}
	if found != len(listed)+1 || others > maxModules {
		t.Errorf("%d go.mod files, modules.txt lists %d; %d are of no service, at most %d", found, len(listed), others, maxModules)
	}
}

// Modules that drive browsers and start servers are for tests. Other modules may require them only through libs/testkit,
// and browser drivers not at all.
var (
	browsers = []string{"github.com/chromedp/chromedp", "github.com/chromedp/cdproto"}
	servers  = []string{"github.com/nats-io/nats-server/v2", "github.com/testcontainers/testcontainers-go"}
)

func TestProductsRequireNoTestModules(t *testing.T) {
	modules := kinds(t)
	for dir, kind := range modules {
		if kind != "service" && kind != "api" && dir != "cmd/kubectl-flotilla" {
			continue
		}
		file := filepath.Join("../..", dir, "go.mod")
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := modfile.Parse(file, raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range parsed.Require {
			own, owned := strings.CutPrefix(r.Mod.Path, prefix)
			switch {
			case owned && !slices.Contains([]string{"lib", "api"}, modules[own]):
				t.Errorf("%s requires %s, which is not a library", dir, own)
			case slices.Contains(browsers, r.Mod.Path), !r.Indirect && slices.Contains(servers, r.Mod.Path):
				t.Errorf("%s requires %s, which only tests need: require it in module test or libs/testkit", dir, r.Mod.Path)
			}
		}
	}
}
