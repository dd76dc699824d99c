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

// TestGolden renders everything that a Superset should have. A change here
// restarts pods of every installation, or runs tasks again: look twice.
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
			for name, text := range files(t, state) {
				golden(t, filepath.Join(filepath.Dir(path), name), text)
			}
		})
	}
}

// files renders each object into a file of its own.
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
				out[c.Word+"-"+name] = []byte(text)
			}
		}
		out[c.Word+"-deployment.yaml"] = asYAML(t, c.Deployment)
		if c.Service != nil {
			out[c.Word+"-service.yaml"] = asYAML(t, c.Service)
		}
		if c.HPA != nil {
			out[c.Word+"-hpa.yaml"] = asYAML(t, c.HPA)
		}
		if c.PDB != nil {
			out[c.Word+"-pdb.yaml"] = asYAML(t, c.PDB)
		}
	}
	for i := range state.Tasks {
		task := &state.Tasks[i]
		job, err := render.Job(&task.Task, task.Checksum, 1)
		if err != nil {
			t.Fatal(err)
		}
		out[task.Word+"-job.yaml"] = asYAML(t, job)
		if task.ConfigMap != nil {
			out[task.Word+"-superset_config.py"] = []byte(task.ConfigMap.Data["superset_config.py"])
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

func TestStoppedSupersetWantsNoPods(t *testing.T) {
	state, err := desired.For(desired.Input{Superset: load(t, "testdata/production/superset.yaml"), Stopped: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range state.Components {
		if *c.Deployment.Spec.Replicas != 0 {
			t.Errorf("%s wants %d replicas", c.Word, *c.Deployment.Spec.Replicas)
		}
	}
}

func TestNoSecretStandsInAConfigMap(t *testing.T) {
	for _, name := range []string{"development", "hostile"} {
		sup := load(t, filepath.Join("testdata", name, "superset.yaml"))
		state, err := desired.For(desired.Input{Superset: sup})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range state.Components {
			for key, text := range c.ConfigMap.Data {
				for _, secret := range []string{*sup.Spec.SecretKey, *sup.Spec.Metastore.Password + "@"} {
					if bytes.Contains([]byte(text), []byte(secret)) {
						t.Errorf("%s of %s contains a secret", key, c.ConfigMap.Name)
					}
				}
			}
		}
	}
}
