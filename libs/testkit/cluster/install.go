package cluster

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
)

// install applies the CRDs and waits until they are served, then the other manifests. kubectl does it, as a person
// would, so a file that only works here would be noticed.
func (c *Cluster) install(ctx context.Context, o Options) error {
	for _, path := range o.CRDs {
		if err := c.kubectl(ctx, "apply", "--server-side", "-f", path); err != nil {
			return fmt.Errorf("apply CRDs: %w", err)
		}
		if err := c.established(ctx, path); err != nil {
			return fmt.Errorf("wait for CRDs: %w", err)
		}
	}
	if err := c.discovered(ctx); err != nil {
		return fmt.Errorf("wait for discovery: %w", err)
	}
	for _, path := range o.Manifests {
		if err := c.kubectl(ctx, "apply", "--server-side", "-f", path); err != nil {
			return fmt.Errorf("apply manifests: %w", err)
		}
	}
	return nil
}

// established waits until the CRDs of a path are served. kubectl wait fails at once on one that is so new that it
// has no conditions yet, so it is asked again.
func (c *Cluster) established(ctx context.Context, path string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = c.kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "-f", path)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

// discovered waits until discovery is complete: for a moment it names the group of an
// established CRD without its resources, or answers for the version alone that there is
// none, and a client that asks then fails.
func (c *Cluster) discovered(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("create a discovery client: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = everyVersion(client)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

func everyVersion(client discovery.DiscoveryInterface) error {
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return err
	}
	for _, list := range lists {
		if _, err := client.ServerResourcesForGroupVersion(list.GroupVersion); err != nil {
			return fmt.Errorf("resources of %s: %w", list.GroupVersion, err)
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
