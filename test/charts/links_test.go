package charts

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChartWithoutLinksFails renders each chart like Flux, which skips symbolic links when it packages a chart from git.
func TestChartWithoutLinksFails(t *testing.T) {
	for _, service := range services {
		wants := map[string]string{service: library}
		if _, err := os.Stat(chart(service + "-crds")); err == nil {
			wants[service+"-crds"] = "use the packaged chart"
		}
		for name, want := range wants {
			dir := filepath.Join(t.TempDir(), name)
			if links := copyWithoutLinks(t, chart(name), dir); links == 0 {
				t.Errorf("%s has no links", name)
			}
			out, err := helm(t, "template", name, dir)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: want an error with %q, got %v\n%s", name, want, err, out)
			}
		}
	}
}

// copyWithoutLinks copies the files of a directory and returns the number of links that it skipped.
func copyWithoutLinks(t *testing.T, from, to string) (links int) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			links++
			return nil
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return links
}
