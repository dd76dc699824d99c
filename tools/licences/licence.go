package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// accepted are licences under which we may give binaries away, by their SPDX names.
var accepted = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Zlib", "CC0-1.0", "Unlicense"}

// Dependency is one module in one version.
type Dependency struct {
	Module, Version string
	Licences        []string // SPDX names, sorted
	Programs        []string // that it is linked into
}

// names of files that hold a licence, in lower case and as prefixes.
var names = []string{"licence", "license", "copying", "unlicense"}

// licencesOf reads the licences of a module's folder.
func licencesOf(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		lower := strings.ToLower(e.Name())
		if e.IsDir() || strings.HasSuffix(lower, ".go") || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(lower, n) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, id := range identify(text) {
			seen[id] = true
		}
	}
	if len(seen) == 0 {
		return nil, fmt.Errorf("no licence was recognised in %s", dir)
	}
	ids := slices.Sorted(maps.Keys(seen))
	for _, id := range ids {
		if !slices.Contains(accepted, id) {
			return nil, fmt.Errorf("licence %s is not among those that were looked at: %s", id, strings.Join(accepted, ", "))
		}
	}
	return ids, nil
}

// identify returns the SPDX names of the licences in a text.
func identify(text []byte) []string {
	seen := map[string]bool{}
	for _, match := range licensecheck.Scan(text).Match {
		if match.IsURL {
			continue // a mention, such as in a file's header
		}
		seen[strings.TrimSuffix(match.ID, "-Header")] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// render writes the page.
func render(found map[string]*Dependency) ([]byte, error) {
	if len(found) == 0 {
		return nil, fmt.Errorf("the programs are built from nothing")
	}
	var b bytes.Buffer
	b.WriteString("# Licences of dependencies\n\n" +
		"What is linked into the services and the plugin, beside Go's own library (BSD-3-Clause). Written by `make licences`, compared by `make verify`.\n\n" +
		"| module | version | licence | in |\n|---|---|---|---|\n")
	for _, key := range slices.Sorted(maps.Keys(found)) {
		d := found[key]
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", d.Module, d.Version, strings.Join(d.Licences, ", "), strings.Join(d.Programs, ", "))
	}
	return b.Bytes(), nil
}
