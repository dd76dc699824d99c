package maintenance_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/maintenance"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, path := range cases {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			page := page(t, filepath.Base(dir))
			deployment, err := yaml.Marshal(maintenance.Deployment(page))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join(dir, "deployment.yaml"), string(deployment))
			files := maintenance.ConfigMap(page)
			if page.Custom != (files == nil) {
				t.Fatalf("custom page: %t, files: %v", page.Custom, files)
			}
			if files == nil {
				return
			}
			for name, text := range files.Data {
				golden(t, filepath.Join(dir, name), text)
			}
		})
	}
}

// page resolves the page of one of the cases.
func page(t *testing.T, name string, edit ...func(*v1alpha1.Superset)) *resolve.Page {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name, "superset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sup := &v1alpha1.Superset{}
	if err := yaml.UnmarshalStrict(raw, sup); err != nil {
		t.Fatal(err)
	}
	for _, e := range edit {
		e(sup)
	}
	return resolve.MaintenancePage(sup)
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}
