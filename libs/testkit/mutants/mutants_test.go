package mutants

import (
	"strings"
	"testing"
)

const list = `# two

the text of the error is empty | mutants.go | TestLists
- is not name | file | by
+ no

two lines become none | mutants.go | TestLists
- 	if len(out) < least {
- 		t.Errorf(
+
`

func TestLists(t *testing.T) {
	got, err := parse(list)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if m := got[0]; m.Title() != "the-text-of-the-error-is-empty" || m.File != "mutants.go" || m.By != "TestLists" || m.before != "is not name | file | by" || m.after != "no" {
		t.Errorf("%+v", m)
	}
	if m := got[1]; m.before != "\tif len(out) < least {\n\t\tt.Errorf(" || m.after != "" {
		t.Errorf("%+v", m)
	}
	for text, want := range map[string]string{"a | b\n": "is not name | file | by", "- a\n": "belongs to no mutant"} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestChangedRequiresSingleMatch(t *testing.T) {
	for before, times := range map[string]string{"Mutant struct {": "", "no such text": "0 times", "t.Helper()": "2 times", "": "times"} {
		_, err := Mutant{Name: "x", File: "mutants.go", before: before}.changed()
		if times == "" && err != nil || times != "" && (err == nil || !strings.Contains(err.Error(), times)) {
			t.Errorf("%q: %v, want %q", before, err, times)
		}
	}
}

// The mutant breaks TestLists. It changes only the compiled code, not the source file.
func TestMutantIsDetected(t *testing.T) {
	for _, m := range Read(t, "testdata/mutants.txt", 2) {
		t.Run(m.Title(), func(t *testing.T) {
			output, err := m.Test(t, "TestLists")
			caught := err != nil && strings.Contains(output, "--- FAIL: TestLists ")
			if want := m.By == "TestLists"; caught != want {
				t.Errorf("caught is %v, want %v: %v\n%s", caught, want, err, output)
			}
		})
	}
}
