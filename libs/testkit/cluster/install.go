package cluster

import (
	"context"
	"fmt"
	"os/exec"
)

// install applies the CRDs and waits until they are served, then the other manifests. kubectl does it, as a person
// would, so a file that only works here would be noticed.
func (c *Cluster) install(ctx context.Context, o Options) error {
	for _, path := range o.CRDs {
		if err := c.kubectl(ctx, "apply", "--server-side", "-f", path); err != nil {
			return fmt.Errorf("apply CRDs: %w", err)
		}
		if err := c.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "-f", path); err != nil {
			return fmt.Errorf("wait for CRDs: %w", err)
		}
	}
	for _, path := range o.Manifests {
		if err := c.kubectl(ctx, "apply", "--server-side", "-f", path); err != nil {
			return fmt.Errorf("apply manifests: %w", err)
		}
	}
	return nil
}

func (c *Cluster) kubectl(ctx context.Context, args ...string) error {
	args = append([]string{"--kubeconfig", c.Kubeconfig}, args...)
	out, err := exec.CommandContext(ctx, c.Tools.Path("kubectl"), args...).CombinedOutput() //nolint:gosec // our own program
	if err != nil {
		return fmt.Errorf("kubectl %v: %w\n%s", args[2:], err, out)
	}
	return nil
}
