package kubectl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApplyCRDsRepeatsAfterTimeout has a stub for kubectl, whose first apply fails, and which records its commands.
func TestApplyCRDsRepeatsAfterTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		message, want string
	}{
		"timeout of the API server": {
			"Error from server (Timeout): Timeout: request did not complete within requested timeout - context deadline exceeded",
			"apply apply wait",
		},
		"denied": {`Error from server (Forbidden): customresourcedefinitions.apiextensions.k8s.io "a" is forbidden`, "apply"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program, log := filepath.Join(dir, "kubectl"), filepath.Join(dir, "log")
			script := "#!/bin/sh\necho $2 >> " + log + "\n[ $(wc -l < " + log + ") -gt 1 ] || { echo '" + test.message + "' >&2; exit 1; }\n"
			if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			err := Client{Program: program, Kubeconfig: "none"}.ApplyCRDs(t.Context(), "crds")
			if failed := test.want == "apply"; failed != (err != nil) || failed && !strings.Contains(err.Error(), test.message) {
				t.Errorf("error %v", err)
			}
			commands, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(strings.Fields(string(commands)), " "); got != test.want {
				t.Errorf("commands %q, want %q", got, test.want)
			}
		})
	}
}
