package samples_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDeploySamplesAreComplete checks that deploy/samples has a copy of each sample of each service.
func TestDeploySamplesAreComplete(t *testing.T) {
	top, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, filepath.Join(top, "services"), "*/config/samples/*.yaml", func(path string) string {
		service := filepath.Dir(filepath.Dir(filepath.Dir(path)))
		return filepath.Join(service, filepath.Base(path))
	})
	got := contents(t, filepath.Join(top, "deploy/samples"), "*/*.yaml", func(path string) string { return path })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("deploy/samples is out of date, run make generate (-want +got):\n%s", diff)
	}
}

// contents returns the contents of the files below a directory, by the name that the function derives from the path.
func contents(t *testing.T, dir, pattern string, name func(path string) string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("no files %s in %s: %v", pattern, dir, err)
	}
	contentsByName := map[string]string{}
	for _, path := range found {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		contentsByName[name(relative)] = string(data)
	}
	return contentsByName
}
