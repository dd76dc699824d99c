package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestBootstrapRunsBeforeCommand runs the real command in a real shell, with stubs of the script and the server.
func TestBootstrapRunsBeforeCommand(t *testing.T) {
	plan := resolve.For(load(t, "hostile"), resolve.Options{})
	web := &plan.Components[0]
	container := render.Deployment(web, "sum").Spec.Template.Spec.Containers[0]
	dir := t.TempDir()
	write(t, dir, "bootstrap.sh", web.Bootstrap)
	write(t, dir, "gunicorn", "#!/bin/sh\necho \"$FROM_BOOTSTRAP\"\nfor a in \"$@\"; do echo \"[$a]\"; done\n")

	command := append([]string{}, container.Command...)
	command[2] = strings.ReplaceAll(command[2], "/app/pythonpath/superset_bootstrap.sh", filepath.Join(dir, "bootstrap.sh"))
	command = append(command, container.Args...)
	shell := exec.CommandContext(t.Context(), command[0], command[1:]...)
	shell.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "SERVER_WORKER_AMOUNT=3")
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The user's options come after the server's own options, and before the application.
	output := string(out)
	if !strings.HasPrefix(output, "it's here\n") || !strings.HasSuffix(output, "[it's]\n[$HOME]\n[a b]\n[superset.app:create_app()]\n") ||
		!strings.Contains(output, "[--workers]\n[3]\n") {
		t.Errorf("gunicorn was called with\n%s", output)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
