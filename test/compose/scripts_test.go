package compose

import (
	"errors"
	"os"
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

// TestImagesAreBuiltByOneProcess builds within a build, which has the lock, and in another process, which waits for it.
func TestImagesAreBuiltByOneProcess(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "docker"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "hack/images.sh", "exclusive", "sh", "-euc",
		"hack/images.sh exclusive echo within; env -u FLOTILLA_IMAGES_LOCK timeout 1 hack/images.sh exclusive echo concurrent")
	cmd.Dir = root()
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "FLOTILLA_CACHE="+t.TempDir())
	out, err := cmd.Output()
	const timedOut = 124
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != timedOut || string(out) != "within\n" {
		t.Errorf("got %v and %q, want exit status %d and %q", err, out, timedOut, "within\n")
	}
}
