package conditions_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/libs/conditions"
)

// documented reads the table of reasons: reason to types.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	_, table, _ := strings.Cut(string(raw), "| reason |")
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([\\w, ]+) \\|").FindAllStringSubmatch(table, -1) {
		out[row[1]] = strings.Split(row[2], ", ")
	}
	return out
}

func TestReadmeDocumentsReasons(t *testing.T) {
	table := documented(t)
	var reasons []string
	for r := range table {
		reasons = append(reasons, r)
	}
	slices.Sort(reasons)
	if diff := cmp.Diff(conditions.Reasons(), reasons); diff != "" {
		t.Fatalf("documented reasons (-code +README):\n%s", diff)
	}
}

// wantDocumented checks pairs of type and reason against the table.
func wantDocumented(t *testing.T, emitted map[[2]string]bool) {
	t.Helper()
	table := documented(t)
	for pair := range emitted {
		if types := table[pair[1]]; !slices.Contains(types, pair[0]) && !slices.Contains(types, "all") {
			t.Errorf("%s is given on %s, documented on %v", pair[1], pair[0], types)
		}
	}
}
