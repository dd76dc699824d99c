package module

import (
	"fmt"
	"slices"
	"strings"
)

// shared are the files and directories that the checks of every module go through.
var shared = []string{"modules.txt", "go.work", ".golangci.yml", "Makefile", "make/", "hack/", ".ci/", "tools/controlplane/"}

// Inputs are the files that decide what the checks of some modules find.
type Inputs struct {
	modules []Module
	of      []string        // the modules that are checked
	needs   map[string]bool // these and what they require, at any distance
	reads   []string
}

// InputsOf returns the inputs of the named modules and suites. The inputs of a module include the files of its suites, but
// not what these read. A name that ends in a slash is a directory, of which all files are
// inputs, and nothing that a module there requires or reads.
func InputsOf(modules []Module, names ...string) (Inputs, error) {
	in := Inputs{modules: modules, of: names, needs: map[string]bool{}}
	for _, name := range names {
		if strings.HasSuffix(name, "/") {
			in.reads = append(in.reads, name)
			continue
		}
		if _, found := Find(modules, name); !found {
			return in, fmt.Errorf("modules.txt has no module %q", name)
		}
		in.add(name)
	}
	return in, nil
}

func (in *Inputs) add(name string) {
	m, found := Find(in.modules, name)
	if !found || in.needs[name] {
		return
	}
	in.needs[name] = true
	in.reads = append(in.reads, m.Reads...)
	for _, required := range m.Requires {
		in.add(required)
	}
}

// Why describes how a file is one of the inputs; it is empty if it is not.
func (in Inputs) Why(file string) string {
	owner, owned := Owner(in.modules, file)
	switch {
	case slices.ContainsFunc(shared, covers(file)):
		return "all go through " + file
	case owned && (slices.Contains(in.of, owner.Path) || slices.Contains(in.of, owner.Root)):
		return "changed: " + file
	case slices.ContainsFunc(in.of, in.builtWith(file)):
		return "built with " + file
	case owned && in.needs[owner.Path]:
		return "requires " + owner.Path
	case slices.ContainsFunc(in.reads, covers(file)):
		return "reads " + file
	}
	return ""
}

// builtWith reports whether a file pins the versions that a suite is built with.
func (in Inputs) builtWith(file string) func(string) bool {
	return func(name string) bool {
		m, _ := Find(in.modules, name)
		return m.Kind == Suite && (file == m.Root+"/go.mod" || file == m.Root+"/go.sum")
	}
}

// Contains reports whether a file is one of the inputs.
func (in Inputs) Contains(file string) bool { return in.Why(file) != "" }

// WholeCheckout reports whether every file is one.
func (in Inputs) WholeCheckout() bool { return slices.Contains(in.reads, "*") }

func covers(file string) func(string) bool {
	return func(pattern string) bool {
		return pattern == "*" || pattern == file || strings.HasSuffix(pattern, "/") && strings.HasPrefix(file, pattern)
	}
}
