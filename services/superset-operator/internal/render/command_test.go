package render_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/render"
	"github.com/flotilla-dev/flotilla/services/superset-operator/internal/resolve"
)

// TestBootstrapRunsBeforeTheCommandWithItsArgs runs the real command in a real
// shell, with the script and the server replaced by stand-ins.
func TestBootstrapRunsBeforeTheCommandWithItsArgs(t *testing.T) {
	plan := resolve.For(load(t, "hostile"), resolve.Options{})
	web := &plan.Components[0]
	container := render.Deployment(web, "sum").Spec.Template.Spec.Containers[0]
	dir := t.TempDir()
	write(t, dir, "bootstrap.sh", web.Bootstrap)
	server := write(t, dir, "server", "#!/bin/sh\necho \"$FROM_BOOTSTRAP\"\nfor a in \"$@\"; do echo \"[$a]\"; done\n")

	command := append([]string{}, container.Command...)
	command[2] = strings.ReplaceAll(command[2], "/app/pythonpath/superset_bootstrap.sh", filepath.Join(dir, "bootstrap.sh"))
	command[2] = strings.ReplaceAll(command[2], "/usr/bin/run-server.sh", server)
	command = append(command, container.Args...)
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := "it's here\n[it's]\n[$HOME]\n[a b]\n"
	if diff := cmp.Diff(want, string(out)); diff != "" {
		t.Errorf("output differs (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil { //nolint:gosec // a program has to be executable
		t.Fatal(err)
	}
	return path
}
