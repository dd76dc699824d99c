package platform

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

var variable = regexp.MustCompile(`(?m)^ *password: \$(\w+)`)

// The configuration of the bus gets all required passwords, and all placeholders are replaced.
func TestBusConfigSetsAllPasswords(t *testing.T) {
	c := Config{Root: checkout(t), ClusterName: "local", Passwords: filepath.Join(t.TempDir(), "folder", "passwords.json")}
	config, err := c.busConfig()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.passwords()
	if err != nil {
		t.Fatal(err)
	}
	given := p.variables()
	asked := 0
	for name, text := range config {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			asked++
			if given[m[1]] == "" {
				t.Errorf("%s requires %s, which is not set", name, m[1])
			}
		}
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") && regexp.MustCompile(`CLUSTER|NAMESPACE|TOOL`).MatchString(line) {
				t.Errorf("%s: placeholder not replaced: %s", name, line)
			}
		}
	}
	if asked != len(given) {
		t.Errorf("%d passwords are required, %d are set", asked, len(given))
	}
}

func TestPasswordsArePersistent(t *testing.T) {
	c := Config{Root: checkout(t), Passwords: filepath.Join(t.TempDir(), "passwords.json")}
	first, err := c.passwords()
	if err != nil {
		t.Fatal(err)
	}
	delete(first.Bus, "reader") // as after an install by an earlier release without this identity
	data, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Passwords, data, 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := c.passwords()
	if err != nil {
		t.Fatal(err)
	}
	first.Bus["reader"] = second.Bus["reader"]
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(c.Passwords); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("other users can read the file: %v %v", info.Mode(), err)
	}
	if first.MySQL == "" || first.Bus["ingester"] == first.Bus["reader"] {
		t.Error("passwords are missing or equal")
	}
}

func TestImageDigestRestartsPods(t *testing.T) {
	annotations := func(digests map[string]string) any {
		return Config{Digests: digests}.values("ingester")["podAnnotations"]
	}
	digests := map[string]string{"docker.io/flotilla/ingester:dev": "sha256:aa", "docker.io/flotilla/engine-operator:dev": "sha256:bb"}
	if diff := cmp.Diff(map[string]any{"flotilla.dev/image-digest": "sha256:aa"}, annotations(digests)); diff != "" {
		t.Error(diff)
	}
	if got := annotations(nil); got != nil {
		t.Errorf("annotations %v of pods of another cluster", got)
	}
}
