package compose

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestScriptsPassShellcheck checks the scripts of images, Compose and kind.
func TestScriptsPassShellcheck(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), filepath.Join(root(), "hack", "ensure"), "shellcheck").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	scripts := []string{"hack/docker", "hack/docker-packages", "hack/images.sh", "hack/kind.sh", "deploy/images/mysql/entrypoint.sh"}
	for _, dir := range []string{"hack/images", "test/e2e/images/*"} {
		found, err := filepath.Glob(filepath.Join(root(), dir, "*.sh"))
		if err != nil || len(found) == 0 {
			t.Fatalf("no scripts in %s: %v", dir, err)
		}
		scripts = append(scripts, found...)
	}
	cmd := exec.CommandContext(t.Context(), "shellcheck", scripts...)
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
