//go:build long

package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNewServiceRunsOnLocalStack follows docs/adding-a-service.md on a clone: make up returns once the sample of the new
// service is healthy.
func TestNewServiceRunsOnLocalStack(t *testing.T) {
	root := filepath.Join(t.TempDir(), "checkout")
	command(t, "../..", "git", "clone", "--quiet", ".", root)
	command(t, root, "make", "new-service", "NAME=widget-operator", "KIND=Widget")
	t.Cleanup(func() {
		down := exec.CommandContext(context.Background(), "make", "-C", root, "down") // the context of the test has ended
		if out, err := down.CombinedOutput(); err != nil {
			t.Errorf("make down: %v\n%s", err, out)
		}
	})
	command(t, root, "make", "up", "SERVICES=widget-operator")
	running := `source .local/env && kubectl get widget sample-widget -o 'jsonpath={.status.phase}'`
	if phase := command(t, root, "bash", "-c", running); phase != "Running" {
		t.Errorf("phase of the sample is %q, want Running", phase)
	}
}
