package cluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"

	"github.com/flotilla-dev/flotilla/libs/testkit/await"
)

// install applies the CRDs, waits until they are served, and then applies the other manifests. It runs kubectl, so that
// a file that users could not apply fails here as well.
func (c *Cluster) install(ctx context.Context, o Options) error {
	run := c.plane.Kubectl()
	if len(o.CRDs) > 0 {
		if err := run.ApplyCRDs(ctx, o.CRDs...); err != nil {
			return fmt.Errorf("apply CRDs: %w", err)
		}
	}
	if err := c.discovered(ctx); err != nil {
		return fmt.Errorf("wait for discovery: %w", err)
	}
	for _, path := range o.Manifests {
		if _, err := run.Run(ctx, "", "apply", "--server-side", "-f", path); err != nil {
			return fmt.Errorf("apply manifests: %w", err)
		}
	}
	return nil
}

// servedTimeout is the maximum time until the kinds of applied CRDs are discovered.
const servedTimeout = 5 * time.Minute

// discovered waits until discovery is complete. Shortly after a CRD is established, discovery can list its group without
// resources, or return 404 for its version; clients would fail on either.
func (c *Cluster) discovered(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	if err != nil {
		return fmt.Errorf("create a discovery client: %w", err)
	}
	return await.Nil(ctx, servedTimeout, 100*time.Millisecond, func(context.Context) error { return checkVersions(client) })
}

func checkVersions(client discovery.DiscoveryInterface) error {
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
