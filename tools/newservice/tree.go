package main

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// templates are the files of a service. In their paths, NAME and TOKEN stand for the service's.
//
//go:embed all:templates
var templates embed.FS

// tree holds the files to write.
type tree struct {
	root  string
	files map[string][]byte // by path in the checkout
}

// render adds the files of the templates.
func (t tree) render(s service) error {
	return fs.WalkDir(templates, "templates", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		target := strings.TrimSuffix(strings.TrimPrefix(path, "templates/"), ".tmpl")
		target = strings.NewReplacer("NAME", s.Name, "TOKEN", s.Token).Replace(target)
		return t.add(target, string(text), s)
	})
}

// add executes a template and adds its output, Go files formatted.
func (t tree) add(path, text string, s service) error {
	out, err := s.execute(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return t.put(path, out)
}

func (t tree) put(path string, content []byte) (err error) {
	if strings.HasSuffix(path, ".go") {
		if content, err = format.Source(content); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	t.files[path] = content
	return nil
}

// execute fills a template, whose delimiters are brackets, since charts and dashboards contain braces.
func (s service) execute(text string) ([]byte, error) {
	parsed, err := template.New("").Delims("[[", "]]").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = parsed.Execute(&out, s)
	return out.Bytes(), err
}

// model is the service whose go.mod a new service starts with: its requirements include those of the templates, in the
// versions of this checkout. go mod tidy removes the others.
const model = "superset-operator"

func (t tree) modules(s service) error {
	for _, file := range []string{"go.mod", "go.sum", "api/go.mod", "api/go.sum"} {
		text, err := t.read("services/" + model + "/" + file)
		if err != nil {
			return err
		}
		t.files["services/"+s.Name+"/"+file] = bytes.ReplaceAll(text, []byte("services/"+model), []byte("services/"+s.Name))
	}
	return nil
}

// chart adds the templates of the model's chart that only include those of the library chart.
func (t tree) chart(s service) error {
	for _, file := range []string{
		"NOTES.txt", "deployment.yaml", "metrics.yaml", "networkpolicy.yaml", "poddisruptionbudget.yaml", "rbac.yaml", "serviceaccount.yaml",
	} {
		text, err := t.read("deploy/charts/" + model + "/templates/" + file)
		if err != nil {
			return err
		}
		t.files["deploy/charts/"+s.Name+"/templates/"+file] = text
	}
	return nil
}

// links returns the symbolic links of the charts, by path in the checkout: to the library chart, the CRDs, and their template.
func (s service) links() map[string]string {
	charts := "deploy/charts/" + s.Name
	return map[string]string{
		charts + "/charts/service-library":   "../../service-library",
		charts + "-crds/templates/crds.yaml": "../../parts/crds.yaml",
		charts + "-crds/files/crd":           "../../../../services/" + s.Name + "/config/crd",
	}
}

// read returns a file as it will be.
func (t tree) read(path string) ([]byte, error) {
	if content, ok := t.files[path]; ok {
		return content, nil
	}
	return os.ReadFile(filepath.Join(t.root, path))
}

// write writes all files and links.
func (t tree) write(s service) error {
	for path, content := range t.files {
		target := filepath.Join(t.root, path)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, content, 0o644); err != nil {
			return err
		}
	}
	for path, to := range s.links() {
		link := filepath.Join(t.root, path)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(to, link); err != nil {
			return err
		}
	}
	return nil
}
