package desired_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/flotilla-dev/flotilla/services/superset-operator/api/v1alpha1"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/desired"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestGolden renders all objects of a Superset. A change of a golden file restarts pods of every installation, or
// runs tasks again, so review it carefully.
func TestGolden(t *testing.T) {
	cases, err := filepath.Glob("testdata/*/superset.yaml")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases found: %v", err)
	}
	for _, path := range cases {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			state, err := desired.For(desired.Input{Superset: load(t, path)})
			if err != nil {
				t.Fatal(err)
			}
			rendered := files(t, state)
			for name, text := range rendered {
				golden(t, filepath.Join(filepath.Dir(path), name), text)
			}
			stored, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range stored {
				if _, isRendered := rendered[file.Name()]; !isRendered && file.Name() != "superset.yaml" {
					t.Errorf("%s is no longer rendered: remove it", file.Name())
				}
			}
		})
	}
}

// files renders each object into a separate file.
func files(t *testing.T, state *desired.State) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	if state.ServiceAccount != nil {
		out["serviceaccount.yaml"] = asYAML(t, state.ServiceAccount)
	}
	for i := range state.Components {
		c := &state.Components[i]
		if c.ConfigMap != nil {
			for name, text := range c.ConfigMap.Data {
				out[c.Slug+"-"+name] = []byte(text)
			}
		}
		out[c.Slug+"-deployment.yaml"] = asYAML(t, c.Deployment)
		if c.Service != nil {
			out[c.Slug+"-service.yaml"] = asYAML(t, c.Service)
		}
		if c.HPA != nil {
			out[c.Slug+"-hpa.yaml"] = asYAML(t, c.HPA)
		}
		if c.PDB != nil {
			out[c.Slug+"-pdb.yaml"] = asYAML(t, c.PDB)
		}
	}
	for i := range state.Tasks {
		task := &state.Tasks[i]
		job, err := render.Job(&task.Task, task.Checksum, 1)
		if err != nil {
			t.Fatal(err)
		}
		out[task.Slug+"-job.yaml"] = asYAML(t, job)
		if task.ConfigMap != nil {
			out[task.Slug+"-superset_config.py"] = []byte(task.ConfigMap.Data["superset_config.py"])
		}
	}
	return out
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func load(t *testing.T, path string) *v1alpha1.Superset {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sup := &v1alpha1.Superset{}
	if err := yaml.UnmarshalStrict(raw, sup); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return sup
}

func asYAML(t *testing.T, obj any) []byte {
	t.Helper()
	out, err := yaml.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(append(out, '\n'))
}

func TestStoppedSupersetDesiresNoPods(t *testing.T) {
	state, err := desired.For(desired.Input{Superset: load(t, "testdata/production/superset.yaml"), Stopped: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range state.Components {
		if *c.Deployment.Spec.Replicas != 0 {
			t.Errorf("%s has %d replicas", c.Slug, *c.Deployment.Spec.Replicas)
		}
	}
}

// TestRenderedObjectsExposeNoSecrets checks ConfigMaps, labels and annotations. The websocket server's inline settings are the exception that the
// schema allows in Development only.
func TestRenderedObjectsExposeNoSecrets(t *testing.T) {
	for _, name := range []string{"development", "hostile", "development-full", "hostile-full"} {
		sup := load(t, filepath.Join("testdata", name, "superset.yaml"))
		sup.Spec.WebsocketServer = nil
		secrets := []string{"only-the-key", "only-the-old-key", "only-the-database", "only-the-uri", "only-the-cache"}
		sup.Spec.SecretKey, sup.Spec.PreviousSecretKey = &secrets[0], &secrets[1]
		if sup.Spec.Metastore.URI != nil {
			sup.Spec.Metastore.URI = &secrets[3]
		} else {
			sup.Spec.Metastore.Password = &secrets[2]
		}
		if sup.Spec.Valkey != nil {
			sup.Spec.Valkey.Password = &secrets[4]
		}
		state, err := desired.For(desired.Input{Superset: sup})
		if err != nil {
			t.Fatal(err)
		}
		var readable []any
		for i := range state.Components {
			c := &state.Components[i]
			readable = append(readable, c.ConfigMap, c.Deployment.ObjectMeta, c.Deployment.Spec.Template.ObjectMeta, c.Service, c.HPA, c.PDB)
		}
		for i := range state.Tasks {
			readable = append(readable, state.Tasks[i].ConfigMap)
		}
		text := asYAML(t, readable)
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s: %q can be read", name, secret)
			}
		}
	}
}
