package module

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// shared are files and directories that affect the checks of every module.
var shared = []string{"modules.txt", "go.work", ".golangci.yml", "Makefile", "make/", "hack/", ".ci/", "tools/controlplane/"}

// Inputs are the files that affect the results of the checks of some modules.
type Inputs struct {
	modules         []Module
	of              []string        // the checked modules
	requiredModules map[string]bool // these and the modules that they require, directly or indirectly
	reads           []string
}

// InputsOf returns the inputs of the named modules and suites. The inputs of a module include the files of its suites,
// but not the files that these read. A name that ends in a slash is a directory: its files are inputs, without the
// requirements and reads of modules in it. A name with an extension is a file.
//
// Tests of other modules are not inputs: Go compiles them only for their own module. A suite that reads such a file names it,
// since a directory includes no file that ends in _test.go. A changelog is an input of its own module only, although most
// changes have a line there.
func InputsOf(modules []Module, names ...string) (Inputs, error) {
	in := Inputs{modules: modules, of: names, requiredModules: map[string]bool{}}
	for _, name := range names {
		if strings.HasSuffix(name, "/") || path.Ext(name) != "" {
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
	if !found || in.requiredModules[name] {
		return
	}
	in.requiredModules[name] = true
	in.reads = append(in.reads, m.Reads...)
	for _, required := range m.Requires {
		in.add(required)
	}
}

// Reason returns the reason why a file is an input, or an empty string if it is not.
func (in Inputs) Reason(file string) string {
	owner, owned := Owner(in.modules, file)
	switch {
	case slices.ContainsFunc(shared, covers(file)):
		return "all go through " + file
	case owned && (slices.Contains(in.of, owner.Path) || slices.Contains(in.of, owner.Root)):
		return "changed: " + file
	case slices.ContainsFunc(in.of, in.builtWith(file)):
		return "built with " + file
	case owned && in.requiredModules[owner.Path] && !isTest(file) && !isChangelog(file):
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
func (in Inputs) Contains(file string) bool { return in.Reason(file) != "" }

func covers(file string) func(string) bool {
	return func(pattern string) bool {
		return pattern == "*" || pattern == file ||
			strings.HasSuffix(pattern, "/") && strings.HasPrefix(file, pattern) && !isTest(file) && !isChangelog(file)
	}
}

func isTest(file string) bool { return strings.HasSuffix(file, "_test.go") }

func isChangelog(file string) bool { return path.Base(file) == "CHANGELOG.md" }
