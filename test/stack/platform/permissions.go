package platform

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/test/stack/permissions"
)

// PermissionReports returns the permissions of each service, and how often it used them since the stack was created.
func (p *Platform) PermissionReports(ctx context.Context) ([]permissions.Report, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(p.Local, "bin", "stack"), "permissions", "--json")
	cmd.Dir = p.Root
	cmd.Env = append(os.Environ(), "FLOTILLA_LOCAL="+p.Local)
	cmd.Stderr = p.Out
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("get the permissions of the services: %w", err)
	}
	return permissions.Parse(text)
}
