package architecture

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var quotedDir = regexp.MustCompile("`((?:services|libs|test)/[^`]*)`")

func TestDeviationsNameDirectoriesWithTests(t *testing.T) {
	register, err := os.ReadFile("../../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	named := quotedDir.FindAllStringSubmatch(string(register), -1)
	if len(named) == 0 {
		t.Fatal("found no test in docs/deviations.md: the check is broken")
	}
	for _, match := range named {
		tests, err := filepath.Glob(filepath.Join("../..", match[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if len(tests) == 0 {
			t.Errorf("docs/deviations.md names %s, which contains no test", match[1])
		}
	}
}
