// Package affected says which modules a change can break: those that it is in,
// those that require one of these, and those that read files outside of themselves.
package affected

import (
	"slices"
	"strings"

	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

// Affected is one module, and why.
type Affected struct {
	Path string
	Why  string // for people: "changed: <file>", "requires <module>", ...
}

// everything are files, and folders ending in a slash, that the build and the checks of every module go through.
var everything = []string{"modules.txt", "Makefile", "make/", "hack/", ".ci/", ".golangci.yml", "tools/"}

// deployed is read by the tests of services, which run under the rights that stand there.
const deployed = "deploy/"

// Of returns the affected modules in the order of the list. Files are paths inside the
// repository with slashes, of whatever was added, changed or removed.
//
// Modules of kind test read the whole checkout, so every change affects them.
func Of(modules []module.Module, files []string) []Affected {
	why := map[string]string{}
	for _, file := range slices.Sorted(slices.Values(files)) {
		owner, found := module.Owner(modules, file)
		for _, m := range modules {
			if found && m.Path == owner.Path || !found && concerns(file, m.Kind) {
				note(why, m.Path, "changed: "+file)
			}
		}
	}
	spread(modules, why)
	var out []Affected
	for _, m := range modules {
		if m.Kind == module.Test && len(files) > 0 {
			note(why, m.Path, "reads the whole checkout")
		}
		if reason, is := why[m.Path]; is {
			out = append(out, Affected{Path: m.Path, Why: reason})
		}
	}
	return out
}

// note keeps the first reason of each module.
func note(why map[string]string, path, reason string) {
	if _, known := why[path]; !known {
		why[path] = reason
	}
}

// spread adds whatever requires an affected module, until nothing is added.
func spread(modules []module.Module, why map[string]string) {
	for before := -1; before != len(why); {
		before = len(why)
		for _, m := range modules {
			for _, required := range m.Requires {
				if _, is := why[required]; is {
					note(why, m.Path, "requires "+required)
				}
			}
		}
	}
}

// concerns says whether a file of no module matters to modules of a kind.
func concerns(file, kind string) bool {
	for _, e := range everything {
		if file == e || strings.HasSuffix(e, "/") && strings.HasPrefix(file, e) {
			return true
		}
	}
	return strings.HasPrefix(file, deployed) && kind == module.Service
}
