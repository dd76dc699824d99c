package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// TestKindConfigHasKnownFields parses the configuration like kind: unknown fields are errors.
func TestKindConfigHasKnownFields(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root(), "deploy", "kind", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var cluster v1alpha4.Cluster
	if err := yaml.UnmarshalStrict(raw, &cluster); err != nil {
		t.Fatal(err)
	}
	if cluster.APIVersion != "kind.x-k8s.io/v1alpha4" || cluster.Kind != "Cluster" || cluster.Name != "flotilla" {
		t.Errorf("it is %s %s %q", cluster.APIVersion, cluster.Kind, cluster.Name)
	}
	if cluster.Networking.APIServerAddress != "127.0.0.1" {
		t.Errorf("the API server listens on %q", cluster.Networking.APIServerAddress)
	}
	roles := map[v1alpha4.NodeRole]int{}
	for _, node := range cluster.Nodes {
		roles[node.Role]++
	}
	if roles[v1alpha4.ControlPlaneRole] != 1 {
		t.Errorf("nodes are %v", roles)
	}
}

// TestKindScriptNamesMissingPrograms runs the script with missing or failing programs.
func TestKindScriptNamesMissingPrograms(t *testing.T) {
	succeeding, failing := "#!/bin/sh\nexit 0\n", "#!/bin/sh\nexit 1\n"
	noCompose := "#!/bin/sh\n[ \"$1\" != compose ]\n"
	noImages := "#!/bin/sh\ncase \"$1 $2\" in 'compose config') echo flotilla/ingester:dev ;; 'image inspect'|'build '*) exit 1 ;; esac\n"
	tests := map[string]struct {
		programs map[string]string
		want     string
	}{
		"no docker":   {nil, "make kind-up: docker is not on PATH: install Docker"},
		"no daemon":   {map[string]string{"docker": failing}, "make kind-up: no Docker daemon answers"},
		"no compose":  {map[string]string{"docker": noCompose}, "make kind-up: docker has no compose: install Docker Compose 2.26 or later"},
		"no kind":     {map[string]string{"docker": succeeding}, "make kind-up: kind is not on PATH: go install sigs.k8s.io/kind@"},
		"no kubectl":  {map[string]string{"docker": succeeding, "kind": succeeding}, "make kind-up: kubectl is not on PATH"},
		"no registry": {map[string]string{"docker": noImages, "kind": succeeding, "kubectl": succeeding}, "run make offline-images first"},
		"no cluster":  {map[string]string{"docker": succeeding, "kind": failing, "kubectl": succeeding}, "make kind-up: failed to create the cluster: its node image comes from a registry"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for program, script := range tc.programs {
				if err := os.WriteFile(filepath.Join(dir, program), []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			tools(t, dir)
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bash"), filepath.Join(root(), "hack", "kind.sh"), "up")
			cmd.Env = []string{"PATH=" + dir, "HOME=" + dir, "FLOTILLA_LOCAL=" + dir}
			out, err := cmd.CombinedOutput()
			if err == nil || !strings.Contains(string(out), tc.want) {
				t.Errorf("error %v, output\n%s\nwant %q", err, out, tc.want)
			}
		})
	}
}

// TestKindScriptBuildsChangedSources runs the script while all images exist: only a build detects that a source has changed.
func TestKindScriptBuildsChangedSources(t *testing.T) {
	for label, want := range map[string]string{"": "BUILD registry ingester\n", "key": "BUILD offline ingester\n"} {
		dir := t.TempDir()
		script, err := os.ReadFile(filepath.Join(root(), "hack", "kind.sh"))
		if err != nil {
			t.Fatal(err)
		}
		docker := "#!/bin/sh\ncase \"$1 $2\" in 'compose config') printf 'nats:1\\nflotilla/ingester:dev\\nflotilla/ingester:dev\\n' ;; 'image inspect') echo " + label + " ;; esac\n"
		for file, text := range map[string]string{
			"hack/kind.sh": string(script), "hack/images.sh": "#!/bin/sh\necho BUILD \"$@\"\n",
			"docker": docker, "kind": "#!/bin/sh\nexit 1\n", "kubectl": "#!/bin/sh\n",
		} {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		tools(t, dir)
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "bash"), filepath.Join(dir, "hack", "kind.sh"), "up")
		cmd.Env = []string{"PATH=" + dir, "HOME=" + dir, "FLOTILLA_LOCAL=" + dir}
		out, err := cmd.CombinedOutput() // it fails where kind creates the cluster
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("error %v, output\n%s\nwant %q", err, out, want)
		}
	}
}

// tools links the standard programs that the scripts call into a directory, which can then be the only one on PATH.
func tools(t *testing.T, dir string) {
	t.Helper()
	for _, name := range []string{"awk", "bash", "cat", "chmod", "dirname", "find", "git", "grep", "head", "mkdir", "mktemp", "rm", "sed"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		wrapper := "#!/bin/sh\nexec " + path + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(wrapper), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
