package changelog_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/tools/release/internal/changelog"
)

const text = `# Changelog

## [Unreleased]

### Added

- Something new.

## [0.1.0] - 2026-01-02

- The first.
`

func TestSection(t *testing.T) {
	tests := map[string]struct {
		version, body string
		found         bool
	}{
		"unreleased changes":        {"Unreleased", "### Added\n\n- Something new.", true},
		"the last section":          {"v0.1.0", "- The first.", true},
		"a missing version":         {"v0.2.0", "", false},
		"a prefix of a version":     {"v0.1", "", false},
		"a dot matches only itself": {"v0x1.0", "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			body, found := changelog.Section(text, tc.version)
			if body != tc.body || found != tc.found {
				t.Errorf("found %t, body %q", found, body)
			}
		})
	}
}

func TestCut(t *testing.T) {
	got, err := changelog.Cut(text, "v0.2.0", "2026-03-04")
	want := `# Changelog

## [Unreleased]

## [0.2.0] - 2026-03-04

### Added

- Something new.

## [0.1.0] - 2026-01-02

- The first.
`
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, text (-want +got):\n%s", err, diff)
	}
	for name, bad := range map[string]string{
		"nothing is unreleased": got,
		"no such heading":       "# Changelog\n",
	} {
		if _, err := changelog.Cut(bad, "v0.3.0", "2026-03-04"); err == nil {
			t.Errorf("%s: Cut succeeded", name)
		}
	}
	if _, err := changelog.Cut(text, "v0.1.0", "2026-03-04"); err == nil {
		t.Error("a version was cut twice")
	}
}
