package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flotilla-dev/flotilla/test/docs/markdown"
)

const root = "../.."

// page is one Markdown file of the checkout.
type page struct {
	path string // inside the checkout, with slashes
	cd   string // directory to which a command of the page has changed
	markdown.Page
}

// dir returns the directory of the page.
func (p page) dir() string { return filepath.Dir(filepath.Join(root, filepath.FromSlash(p.path))) }

// module returns the innermost parent directory of the page with a go.mod, or the checkout.
func (p page) module() string {
	for dir := p.dir(); dir != root && dir != "."; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return root
}

// exists reports whether a path exists relative to the page, its module, the checkout or any
// service. A star matches any text.
func (p page) exists(path string) bool {
	for _, from := range []string{
		p.dir(), p.module(), root, filepath.Join(root, "services", "*"), filepath.Join(root, p.cd),
	} {
		if found, err := filepath.Glob(filepath.Join(from, filepath.FromSlash(path))); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

var readPages = sync.OnceValues(func() (map[string]page, error) {
	out := map[string]page{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		out[name] = page{path: name, Page: markdown.Parse(string(text))}
		return nil
	})
	return out, err
})

// pages returns all Markdown files except test data.
func pages(t *testing.T) map[string]page {
	t.Helper()
	all, err := readPages()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("found %d pages: the walk is broken", len(all))
	}
	return all
}

// read returns a file of the checkout.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
