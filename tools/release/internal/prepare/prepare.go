// Package prepare computes whether a module can be released, and the commands that release it.
package prepare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/flotilla-dev/flotilla/tools/release/internal/changelog"
	"github.com/flotilla-dev/flotilla/tools/release/internal/chart"
	"github.com/flotilla-dev/flotilla/tools/release/internal/module"
)

// State is the input of a plan.
type State struct {
	Modules   []module.Module
	Tags      []string // all tags of the repository
	Dirty     []string // files that differ from the last commit
	Changelog string   // of the module to release; empty if it has none
	// Changed maps each released module to the files that changed since its latest release.
	Changed map[string][]string
	// Charts has the content of each Chart.yaml of the module, by path.
	Charts map[string]string
}

// Plan describes the release of a module.
type Plan struct {
	Tag      string
	Problems []string // one line each; empty when the module can be released
	// Cut reports whether the version is missing in the changelog and the charts, and nothing else is wrong.
	Cut bool
	// Versions are the versions of the required modules in the go.mod of the tag, by path.
	Versions map[string]string
	// Rewrite reports whether the tagged commit needs another go.mod, without replace lines for
	// the required modules: other modules and "go install" use that go.mod.
	Rewrite bool
}

// For plans the release of the module at a path as a version.
func For(s State, path, version string) Plan {
	p := Plan{Tag: path + "/" + version, Versions: map[string]string{}}
	m, known := module.Find(s.Modules, path)
	if !known || !m.Released {
		p.problem("%s is not a released module of modules.txt", path)
		return p
	}
	p.Rewrite = m.Kind != module.Service && len(m.Requires) > 0
	p.checkVersion(s, m, version)
	if len(s.Dirty) > 0 {
		p.problem("the tree is not clean: commit or remove %s", some(s.Dirty))
	}
	for _, required := range m.Requires {
		p.require(s, m, required)
	}
	body, found := changelog.Section(s.Changelog, version)
	if !found || body == "" {
		pending, _ := changelog.Section(s.Changelog, "Unreleased")
		p.Cut = !found && pending != "" && len(p.Problems) == 0
		p.problem("%s/CHANGELOG.md has no entry under [%s]", path, strings.TrimPrefix(version, "v"))
	}
	for _, file := range slices.Sorted(maps.Keys(s.Charts)) {
		if !chart.Has(s.Charts[file], version) {
			p.problem("%s has another version or appVersion than %s", file, version)
		}
	}
	return p
}

func (p *Plan) problem(format string, args ...any) {
	p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
}

// some lists the first files and the number of the others.
func some(files []string) string {
	const most = 5
	if len(files) <= most {
		return strings.Join(files, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(files[:most], ", "), len(files)-most)
}

func (p *Plan) checkVersion(s State, m module.Module, version string) {
	if semver.Canonical(version) != version || version == "" {
		p.problem("%q is not a version such as v1.2.3", version)
		return
	}
	// From v2 on the import path of a Go module would have to end in /v2.
	if m.Kind != module.Service && !slices.Contains([]string{"v0", "v1"}, semver.Major(version)) {
		p.problem("%s: a module of major version %s needs an import path that ends in /%[2]s", m.Path, semver.Major(version))
	}
	last := Latest(s.Tags, m.Path)
	if last != "" && semver.Compare(version, last) <= 0 {
		p.problem("%s is not later than the released %s", version, last)
	}
}

// require records the version of a required module, or a problem if it must be released first.
func (p *Plan) require(s State, m module.Module, path string) {
	required, _ := module.Find(s.Modules, path)
	switch last := Latest(s.Tags, path); {
	case !required.Released && m.Kind == module.Service: // its image is built from the checkout
	case !required.Released:
		p.problem("%s requires %s, which is never released", m.Path, path)
	case last == "":
		p.problem("release %s first: it has no version", path)
	case len(s.Changed[path]) > 0:
		p.problem("release %s first: %d files changed since %s, such as %s", path, len(s.Changed[path]), last, s.Changed[path][0])
	default:
		p.Versions[path] = last
	}
}

// Latest returns the latest version of a module among all tags, or an empty string if it has none.
func Latest(tags []string, path string) string {
	latest := ""
	for _, tag := range tags {
		version, owned := strings.CutPrefix(tag, path+"/")
		if owned && semver.IsValid(version) && (latest == "" || semver.Compare(version, latest) > 0) {
			latest = version
		}
	}
	return latest
}

// Resolve returns a go.mod that requires the versions and has no replace lines for these modules.
func Resolve(gomod []byte, versions map[string]string) ([]byte, error) {
	parsed, err := modfile.Parse("go.mod", gomod, nil)
	if err != nil {
		return nil, err
	}
	for path, version := range versions {
		if err := parsed.AddRequire(module.Prefix+path, version); err != nil {
			return nil, err
		}
	}
	for _, r := range slices.Clone(parsed.Replace) {
		if !strings.HasPrefix(r.Old.Path, module.Prefix) {
			continue
		}
		if err := parsed.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, err
		}
	}
	parsed.Cleanup()
	return parsed.Format()
}

// Commands returns the commands that create the release once the files are written.
func Commands(p Plan, path string) []string {
	message := strings.Replace(p.Tag, path+"/", path+" ", 1)
	if len(p.Versions) > 0 {
		with := make([]string, 0, len(p.Versions))
		for _, required := range slices.Sorted(maps.Keys(p.Versions)) {
			with = append(with, required+" "+p.Versions[required])
		}
		message += ", with " + strings.Join(with, ", ")
	}
	tag := []string{fmt.Sprintf("git tag -a %s -m %q", p.Tag, message), "git push origin " + p.Tag}
	if !p.Rewrite {
		return tag
	}
	// The commit is not on the branch, where replace lines keep all modules at the same commit.
	return slices.Concat(
		[]string{"git switch --detach", fmt.Sprintf("git commit -m %q -- %s/go.mod", path+": requires the released versions", path)},
		tag, []string{"git switch -"},
	)
}
