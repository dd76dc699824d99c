package charts

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// Every chart passes helm lint, and its package has all that its links point to: the library, the CRDs. The test prints
// the sizes.
func TestLintAndPackage(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartsDir, "*/Chart.yaml"))
	if err != nil || len(files) != 2*len(services) { // one service has no CRDs, and there is the library
		t.Fatalf("charts %v, %v", files, err)
	}
	cases := renders(t)
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			args := []string{"lint", "--strict", chart(name)}
			if values, ok := cases[name]["default"]; ok {
				args = append(args, "--values", values)
			}
			must(t, args...)
			start := time.Now()
			packed := pack(t, name)
			took := time.Since(start)
			info, err := os.Stat(packed)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("CHART %s %d bytes %.1f s\n", name, info.Size(), took.Seconds())
			const differ = "the packaged chart and its directory render differently"
			if strings.HasSuffix(name, "-crds") && template(t, name, packed) != render(t, name) {
				t.Error(differ)
			}
			for kase, values := range cases[name] {
				want, err := os.ReadFile(filepath.Join("testdata/golden", name+"."+kase+".yaml"))
				if err != nil || template(t, name, packed, "--values", values) != string(want) {
					t.Errorf("%s: %s %v", kase, differ, err)
				}
			}
		})
	}
}

// The default image of a chart has its appVersion as its tag. The tag of a release begins with v, unlike the chart's version.
func TestAppVersionIsTagOfImage(t *testing.T) {
	for _, service := range services {
		for _, name := range []string{service, service + "-crds"} {
			raw, err := os.ReadFile(filepath.Join(chart(name), "Chart.yaml"))
			if os.IsNotExist(err) && name == "status-aggregator-crds" {
				continue // it has no CRDs
			}
			var got struct{ Version, AppVersion string }
			if err == nil {
				err = yaml.Unmarshal(raw, &got)
			}
			if err != nil {
				t.Fatal(err)
			}
			if want := "v" + got.Version; got.AppVersion != want {
				t.Errorf("%s: the appVersion is %q, want %q", name, got.AppVersion, want)
			}
		}
	}
}

// With rbac.create=false a chart renders no role, also not as a hook.
func TestRBACCanBeDisabled(t *testing.T) {
	for _, service := range services {
		args := []string{"--values", renders(t)[service]["default"], "--set", "rbac.create=false"}
		if service == "engine-operator" || service == "ingester" {
			args = append(args, "--set", "uninstall.release=false")
		}
		for _, doc := range documents(t, render(t, service, args...)) {
			if doc.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
				t.Errorf("%s: %s %s", service, doc.GetKind(), doc.GetName())
			}
		}
	}
}

// Helm passes "global" to subcharts, also to the library.
func TestSchemaAcceptsDefaultsOfSubchart(t *testing.T) {
	for _, service := range services {
		render(t, service, "--values", renders(t)[service]["default"], "--set", "global.registry=x")
	}
}

// The table of each README lists exactly the values of the chart.
func TestReadmesListAllValues(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chartsDir, "*/values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "parts" {
			continue
		}
		checked++
		var values map[string]any
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, &values); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join(filepath.Dir(file), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		var listed []string
		for line := range strings.SplitSeq(string(page), "\n") {
			if tail, ok := strings.CutPrefix(line, "| `"); ok {
				key, _, _ := strings.Cut(tail, "`")
				listed = append(listed, key)
			}
		}
		for _, key := range leaves("", values) {
			if !slices.ContainsFunc(listed, func(l string) bool { return key == l || strings.HasPrefix(key, l+".") }) {
				t.Errorf("%s: %s is not in the README", file, key)
			}
		}
		if len(listed) == 0 {
			t.Errorf("%s: the README lists no values", file)
		}
	}
	if checked != 2*len(services)-1 {
		t.Errorf("checked %d charts", checked)
	}
}

// The schema lists the values of all objects, at every depth, except of those with user-defined keys.
func TestSchemaDescribesAllValues(t *testing.T) {
	for _, service := range services {
		raw, err := os.ReadFile(filepath.Join(chart(service), "values.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		var schema map[string]any
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		open := openObjects("", schema)
		slices.Sort(open)
		for _, path := range open {
			if !slices.Contains(freeForm, path[strings.LastIndex(path, "/")+1:]) {
				t.Errorf("%s: the schema accepts any value at %s", service, path)
			}
		}
	}
}

// freeForm lists objects with user-defined keys.
var freeForm = []string{"global", "anything", "strings", "matchLabels", "concurrentReconcilesMap", "requeuePeriodMap"}

func openObjects(path string, schema map[string]any) (out []string) {
	if closed, ok := schema["additionalProperties"].(bool); schema["type"] == "object" && (!ok || closed) {
		out = append(out, path)
	}
	for _, under := range []string{"properties", "definitions"} {
		inner, _ := schema[under].(map[string]any)
		for key, one := range inner {
			if one, ok := one.(map[string]any); ok {
				out = append(out, openObjects(path+"/"+key, one)...)
			}
		}
	}
	return out
}

func leaves(prefix string, values map[string]any) (out []string) {
	for key, value := range values {
		if inner, ok := value.(map[string]any); ok && len(inner) > 0 {
			out = append(out, leaves(prefix+key+".", inner)...)
			continue
		}
		out = append(out, prefix+key)
	}
	return out
}
