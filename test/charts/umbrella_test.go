package charts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Templates are global in Helm: in an umbrella chart, one that two charts define is that of one of them in both. So an umbrella
// of all charts must render the objects that the charts render alone.
func TestUmbrellaRendersSameObjects(t *testing.T) {
	dir := t.TempDir()
	values, dependencies := map[string]any{}, []any{}
	var want []string
	for _, name := range installable(t) {
		args := []string{}
		if file := renders(t)[name]["full"]; file != "" {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			own := map[string]any{}
			if err := yaml.Unmarshal(raw, &own); err != nil {
				t.Fatal(err)
			}
			values[name] = own
			args = append(args, "--values", file)
		}
		want = append(want, objects(t, template(t, "umbrella", chart(name), args...))...)
		dependencies = append(dependencies, map[string]any{"name": name, "version": "*"})
		link(t, chart(name), filepath.Join(dir, "charts", name))
	}
	writeYAML(t, filepath.Join(dir, "values.yaml"), values)
	writeYAML(t, filepath.Join(dir, "Chart.yaml"), map[string]any{
		"apiVersion": "v2", "name": "umbrella", "version": "0.1.0", "dependencies": dependencies,
	})
	got := objects(t, template(t, "umbrella", dir))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) { // cmp takes seconds for the largest CRD
		t.Errorf("the umbrella renders other objects (-alone +umbrella):\n%s", cmp.Diff(want, got))
	}
}

// installable returns the charts that can be installed.
func installable(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartsDir, "*", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(filepath.Dir(file)); name != library {
			names = append(names, name)
		}
	}
	if len(names) <= len(services) {
		t.Fatalf("found only the charts %v", names)
	}
	return names
}

// objects returns the documents of a render as JSON.
func objects(t *testing.T, text string) (out []string) {
	t.Helper()
	for _, doc := range documents(t, text) {
		raw, err := json.Marshal(doc.Object)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// link makes a chart a dependency by a link, which Helm follows.
func link(t *testing.T, from, to string) {
	t.Helper()
	from, err := filepath.Abs(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

func writeYAML(t *testing.T, file string, content any) {
	t.Helper()
	raw, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}
