package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/libs/testkit/permissions"
)

// PermissionReports returns the permissions of each service, and how often it used them since the stack was created.
func (p *Platform) PermissionReports(ctx context.Context) (reports []permissions.ServiceReport, err error) {
	cmd := exec.CommandContext(ctx, filepath.Join(p.Local, "bin", "stack"), "permissions", "--json")
	cmd.Dir = p.Root
	cmd.Env = append(os.Environ(), "FLOTILLA_LOCAL="+p.Local)
	cmd.Stderr = p.Out
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("get the permissions of the services: %w", err)
	}
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("parse the permissions of the services: %w", err)
	}
	return reports, nil
}
