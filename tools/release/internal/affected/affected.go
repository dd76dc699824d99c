// Package affected computes which modules a change can break: those that it is in,
// those that require one of these, and those whose tests read one of its files.
package affected

import (
	"slices"

	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

// Affected is one module, and why.
type Affected struct {
	Path string
	Why  string // for people: "changed: <file>", "requires <module>", ...
}

// Of returns the affected modules in the order of the list. Files are paths inside the
// repository with slashes, of whatever was added, changed or removed.
func Of(modules []module.Module, files []string) ([]Affected, error) {
	files = slices.Sorted(slices.Values(files))
	var out []Affected
	for _, m := range modules {
		inputs, err := module.InputsOf(modules, m.Path)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if why := inputs.Why(file); why != "" {
				out = append(out, Affected{Path: m.Path, Why: why})
				break
			}
		}
	}
	return out, nil
}
