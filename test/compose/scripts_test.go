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
	cmd := exec.CommandContext(t.Context(), "shellcheck",
		"hack/docker", "hack/docker-packages", "hack/images.sh", "hack/images/pack.sh", "hack/images/try.sh", "hack/kind.sh", "deploy/images/mysql/entrypoint.sh",
		"test/e2e/images/postgres/entrypoint.sh")
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
