package docs

import (
	"regexp"
	"strings"
	"testing"
)

// history reports whether a page describes earlier states, which may name things that no longer exist.
func history(path string) bool {
	return strings.HasSuffix(path, "CHANGELOG.md") || strings.HasPrefix(path, "docs/adr/")
}

var (
	makeTarget = regexp.MustCompile(`^make +(?:-C +\S+ +)?([a-z][\w/.-]*)`)
	pluginVerb = regexp.MustCompile(`^kubectl flotilla ([a-z][a-z-]*)`)
	ownFlag    = regexp.MustCompile(`^(--[a-z][a-z0-9-]*)(?:[ =].*)?$`)
	tag        = regexp.MustCompile(`/v\d+\.\d+\.\d+$`)
	pathlike   = regexp.MustCompile(`^(?:services|libs|docs|deploy|test|tools|hack|make|cmd|config|internal|integration|migrations|testdata)/[\w./*-]+$`)
)

func TestPagesNameExistingFiles(t *testing.T) {
	made, verbs, known := targets(t), plugin(t), names(t)
	counts := map[string]int{}
	for _, p := range pages(t) {
		if history(p.path) {
			continue
		}
		for _, c := range p.Code {
			where := func(what, name string) { t.Errorf("%s:%d: unknown %s %s", p.path, c.Line, what, name) }
			if m := makeTarget.FindStringSubmatch(c.Text); m != nil {
				counts["target"]++
				for name := range strings.FieldsSeq(strings.TrimPrefix(c.Text, "make ")) {
					if !hasTarget(made, name) {
						where("make target", name)
					}
				}
			}
			if m := pluginVerb.FindStringSubmatch(c.Text); m != nil {
				counts["subcommand"]++
				if !verbs[m[1]] {
					where("subcommand of kubectl flotilla", m[1])
				}
			}
			if m := ownFlag.FindStringSubmatch(c.Text); m != nil {
				counts["flag"]++
				if name := strings.TrimPrefix(m[1], "--"); !known[name] && !foreignFlags[m[1]] {
					where("flag", m[1])
				}
			}
			if pathlike.MatchString(c.Text) && !tag.MatchString(c.Text) {
				counts["path"]++
				if !p.exists(strings.TrimSuffix(c.Text, "/...")) {
					where("file", c.Text)
				}
			}
		}
	}
	for _, kind := range []string{"target", "subcommand", "flag", "path"} {
		if counts[kind] < 10 {
			t.Errorf("found only %d of kind %s: the parser is broken", counts[kind], kind)
		}
	}
}

// hasTarget reports whether make accepts a word: a target, a variable or an option.
func hasTarget(made map[string]bool, name string) bool {
	if strings.HasPrefix(name, "test/") {
		return made["test/%"]
	}
	return made[name] || strings.Contains(name, "=") || strings.HasPrefix(name, "-")
}
