package docs

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

var scheme = regexp.MustCompile(`^[a-z]+:`)

func TestLinksResolve(t *testing.T) {
	all := pages(t)
	checked := 0
	for _, p := range all {
		for _, l := range p.Links {
			if scheme.MatchString(l.Target) {
				continue // external: tests must not require network access
			}
			checked++
			if problem := follow(all, p, l.Target); problem != "" {
				t.Errorf("%s:%d: %s: %s", p.path, l.Line, l.Target, problem)
			}
		}
	}
	if checked < 200 {
		t.Errorf("found only %d links: the parser is broken", checked)
	}
}

// follow describes the error in a relative link, or returns an empty string if its target exists.
func follow(all map[string]page, from page, target string) string {
	file, anchor, _ := strings.Cut(target, "#")
	to := from.path
	if file != "" {
		to = path.Join(path.Dir(from.path), file)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(to))); err != nil {
			return "target not found"
		}
	}
	if anchor == "" {
		return ""
	}
	p, isPage := all[to]
	switch {
	case !isPage:
		return to + " has no headings"
	case !p.Anchors[anchor] && !explicit(anchor, to):
		return to + " has no such heading"
	}
	return ""
}

// explicit reports whether a page sets an anchor explicitly, like generated pages.
func explicit(anchor, to string) bool {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(to)))
	return err == nil && (strings.Contains(string(text), `id="`+anchor+`"`) || strings.Contains(string(text), `name="`+anchor+`"`))
}

func TestFollowFindsBrokenLinks(t *testing.T) {
	all := map[string]page{
		"README.md":          {path: "README.md", Page: markdown.Page{Anchors: map[string]bool{"try-it": true}}},
		"docs/deviations.md": {path: "docs/deviations.md"},
	}
	for target, broken := range map[string]bool{
		"LICENSE": false, "#try-it": false, "docs": false, "#try": true, "nothing.md": true, "LICENSE#x": true, "docs/deviations.md#x": true,
	} {
		if got := follow(all, all["README.md"], target); (got != "") != broken {
			t.Errorf("%s: %q", target, got)
		}
	}
}
