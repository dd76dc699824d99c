package renderdiff_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/testkit/renderdiff"
)

func TestDifferences(t *testing.T) {
	before := map[string][]byte{"same": []byte("a"), "other": []byte("a"), "gone": []byte("a")}
	now := map[string][]byte{"same": []byte("a"), "other": []byte("b"), "new": []byte("a")}
	got := renderdiff.Differences(before, now)
	if len(got) != 3 || got["gone"] != "is no longer rendered" || got["new"] != "is new" || !strings.HasPrefix(got["other"], "differs") {
		t.Errorf("differences %q", got)
	}
}

func TestDeclared(t *testing.T) {
	got := renderdiff.Declared("# Changelog\n\n## [Unreleased]\n\n### Added\n\n- `not.yaml` is new.\n\n### Restarts pods\n\n" +
		"- `a.yaml`: why\n- `b.yaml`: why\n  more of it\n\n### Fixed\n\n- `not.yaml`\n\n## [0.1.0] - 2026-01-02\n\n### Restarts pods\n\n- `old.yaml`: why\n")
	if diff := cmp.Diff([]string{"a.yaml", "b.yaml"}, got); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
}

func TestUndeclared(t *testing.T) {
	got := renderdiff.Undeclared(map[string]string{"a.yaml": "is new", "b.yaml": "is new"}, []string{"b.yaml"})
	if len(got) != 1 || !strings.Contains(got[0], "a.yaml is new") {
		t.Errorf("problems %q", got)
	}
	if got := renderdiff.Undeclared(nil, nil); !slices.Equal(got, nil) {
		t.Errorf("problems without a change: %q", got)
	}
}
