// Package affected computes which modules a change can break: modules with changed
// files, modules that require one of these, and modules whose tests read a changed file.
package affected

import (
	"slices"

	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

// Affected is an affected module and the reason.
type Affected struct {
	Path   string
	Reason string // for display: "changed: <file>", "requires <module>", ...
}

// Of returns the affected modules in the order of the list. files are the paths of added,
// changed and removed files inside the repository, with slashes.
func Of(modules []module.Module, files []string) ([]Affected, error) {
	files = slices.Sorted(slices.Values(files))
	var out []Affected
	for _, m := range modules {
		inputs, err := module.InputsOf(modules, m.Path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if reason := inputs.Reason(file); reason != "" {
				out = append(out, Affected{Path: m.Path, Reason: reason})
				break
			}
		}
	}
	return out, nil
}
