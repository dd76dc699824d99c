package architecture

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// file is one Go source file of the repository.
type file struct {
	path    string // inside the repository, with slashes
	dir     string
	name    string // package name
	imports []string
	lines   int
}

func sources(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var files []file
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasPrefix(d.Name(), "zz_generated") {
			return nil
		}
		f, err := parse(root, path)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("found %d Go files: the walk is broken", len(files))
	}
	return files
}

func parse(root, path string) (file, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return file{}, err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), path, raw, parser.ImportsOnly)
	if err != nil {
		return file{}, err
	}
	rel, err := filepath.Rel(root, path)
	if err != nil {
		return file{}, err
	}
	f := file{path: filepath.ToSlash(rel), name: parsed.Name.Name, lines: bytes.Count(raw, []byte("\n"))}
	f.dir = filepath.ToSlash(filepath.Dir(rel))
	for _, spec := range parsed.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return file{}, err
		}
		f.imports = append(f.imports, p)
	}
	return f, nil
}

func TestServicesImportOnlyOwnInternals(t *testing.T) {
	for _, f := range sources(t) {
		for _, imported := range f.imports {
			if foreignInternals(f.dir, imported) {
				t.Errorf("%s imports %s: only the api of another service may be imported", f.path, imported)
			}
		}
	}
}

func TestPurePackagesDoNoIO(t *testing.T) {
	found := 0
	for _, f := range sources(t) {
		if !isPure(f.dir) || strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		found++
		for _, imported := range f.imports {
			if isImpure(imported) {
				t.Errorf("%s imports %s: this package must not do I/O", f.path, imported)
			}
		}
	}
	if found == 0 {
		t.Fatal("no pure package found: the rule checks nothing")
	}
}

func TestFilesStayWithinLineLimits(t *testing.T) {
	for _, f := range sources(t) {
		if f.lines > maxLines {
			t.Errorf("%s has %d lines, %d are allowed: split it by concern", f.path, f.lines, maxLines)
		}
		if badNames[strings.TrimSuffix(f.name, "_test")] {
			t.Errorf("%s: package name %q is not descriptive", f.path, f.name)
		}
	}
}

func TestPackagesStayWithinFileLimit(t *testing.T) {
	count := map[string]int{}
	for _, f := range sources(t) {
		if !strings.HasSuffix(f.path, "_test.go") {
			count[f.dir]++
		}
	}
	for dir, n := range count {
		if n > maxFiles {
			t.Errorf("%s has %d files, %d are allowed: move a concern into its own package", dir, n, maxFiles)
		}
	}
}

func TestFilesShareNoPrefix(t *testing.T) {
	subjects := map[string]string{} // by directory and prefix
	for _, f := range sources(t) {
		if strings.HasSuffix(f.path, "_test.go") || isAPI(f.dir) {
			continue
		}
		subject := subjectOf(f.path)
		first, _, _ := strings.Cut(filepath.Base(subject), "_")
		key := f.dir + "/" + first
		if other, ok := subjects[key]; ok && other != subject {
			t.Errorf("%s and %s share a prefix: move them into a package, or name each by its content", other, subject)
		}
		subjects[key] = subject
	}
}

func TestImportRulesReportViolations(t *testing.T) {
	cases := map[string]struct {
		got, want bool
	}{
		"a service may not import another's internals": {foreignInternals("services/ingester/internal/decide", prefix+"services/engine-operator/internal/engine"), true},
		"a service may import another's api":           {foreignInternals("services/status-aggregator/internal/observe", prefix+"services/engine-operator/api/v1alpha1"), false},
		"a service may import its own internals":       {foreignInternals("services/ingester/cmd/ingester", prefix+"services/ingester/internal/decide"), false},
		"a lib may not import a service":               {foreignInternals("libs/kube/apply", prefix+"services/ingester/storage"), true},
		"the operating system is I/O":                  {isImpure("os"), true},
		"client-go is I/O":                             {isImpure("k8s.io/client-go/kubernetes"), true},
		"net/url is not I/O":                           {isImpure("net/url"), false},
		"a render package is pure":                     {isPure("services/superset-operator/internal/render"), true},
		"a nested render package is pure":              {isPure("services/superset-operator/internal/component/render"), true},
		"files for systems have one subject":           {subjectOf("a/usage_linux.go") == subjectOf("a/usage.go"), true},
		"a prefix is a part of the subject":            {subjectOf("a/bus_nats.go") == subjectOf("a/bus.go"), false},
		"files of an api package may share a prefix":   {isAPI("services/superset-operator/api/v1alpha1"), true},
		"httpapi is not an api package":                {isAPI("services/ingester/internal/httpapi"), false},
		"the controller of a pure name is the edge":    {isPure("services/engine-operator/internal/controller/engine"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %v, want %v", c.got, c.want)
			}
		})
	}
}
