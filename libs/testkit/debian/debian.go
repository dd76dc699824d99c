// Package debian installs missing Debian packages that tests require. It requires root on Debian, and a checkout.
package debian

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/flotilla-dev/flotilla/libs/testkit/controlplane"
	"github.com/flotilla-dev/flotilla/libs/testkit/proc"
)

const timeout = 20 * time.Minute

// Install installs packages by hack/ensure, which installs one list at a time. It calls progress before it changes the
// machine. The error gives the reason if the installation is not possible. The environment is added to that of apt-get.
func Install(ctx context.Context, progress func(format string, args ...any), environment []string, packages ...string) error {
	module, err := controlplane.Module()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := proc.Group(ctx, filepath.Join(module, "..", ".."), "hack/ensure", packages...)
	cmd.Env = append(cmd.Env, environment...)
	progress("hack/ensure %s", strings.Join(packages, " "))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install packages: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
