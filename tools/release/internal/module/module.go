// Package module reads the modules of the repository: the rows of modules.txt and
// the requirements in each go.mod.
package module

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// Prefix is the import path of the repository, with a trailing slash.
const Prefix = "github.com/flotilla-dev/flotilla/"

// Kinds of modules, as modules.txt names them.
const (
	Lib     = "lib"
	API     = "api"
	Service = "service"
	Tool    = "tool"
	Test    = "test"
	Suite   = "suite" // a directory of a module of kind test, which is tested on its own
	Example = "example"
)

// Module is one row of modules.txt.
type Module struct {
	Path     string // directory inside the repository, with slashes: libs/kube
	Kind     string
	Released bool
	Root     string   // directory of its go.mod: Path itself or, for a suite, the path of its module
	Reads    []string // files, and directories ending in a slash, that its tests read outside of modules it requires; "*" is all
	Requires []string // paths of the modules of this repository that its go.mod requires, sorted
}

// ParseList reads modules.txt. Rows are "path kind released reads...", # begins a comment.
func ParseList(text string) ([]Module, error) {
	var out []Module
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 || fields[2] != "yes" && fields[2] != "no" {
			return nil, fmt.Errorf("modules.txt:%d: got %q, want path, kind, yes or no, and the paths that its tests read", i+1, line)
		}
		m := Module{Path: fields[0], Kind: fields[1], Released: fields[2] == "yes", Root: fields[0], Reads: fields[3:]}
		if m.Kind == Suite {
			m.Root = path.Dir(m.Path)
			if _, found := Find(out, m.Root); !found {
				return nil, fmt.Errorf("modules.txt:%d: module %s of this suite must be listed above it", i+1, m.Root)
			}
		}
		out = append(out, m)
	}
	return out, nil
}

// Siblings returns the paths of the modules of this repository that a go.mod requires, sorted.
func Siblings(gomod []byte) ([]string, error) {
	parsed, err := modfile.ParseLax("go.mod", gomod, nil)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range parsed.Require {
		if sibling, owned := strings.CutPrefix(r.Mod.Path, Prefix); owned {
			out = append(out, sibling)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Load reads modules.txt of a checkout and the go.mod of each module.
func Load(root string) ([]Module, error) {
	text, err := os.ReadFile(filepath.Join(root, "modules.txt"))
	if err != nil {
		return nil, err
	}
	modules, err := ParseList(string(text))
	if err != nil {
		return nil, err
	}
	for i := range modules {
		m := &modules[i]
		gomod, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.Root), "go.mod"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("modules.txt lists %s, but %s has no go.mod: remove the row of a deleted module, then run make tidy", m.Path, m.Root)
		}
		if err != nil {
			return nil, err
		}
		if m.Requires, err = Siblings(gomod); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Path, err)
		}
	}
	return modules, nil
}

// Find returns the module at a path and reports whether it exists.
func Find(modules []Module, at string) (Module, bool) {
	i := slices.IndexFunc(modules, func(m Module) bool { return m.Path == at })
	if i < 0 {
		return Module{}, false
	}
	return modules[i], true
}

// Owner returns the innermost module that contains a file, or false if there is none.
func Owner(modules []Module, file string) (Module, bool) {
	for dir := path.Dir(file); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if m, ok := Find(modules, dir); ok {
			return m, true
		}
	}
	return Module{}, false
}
