package cluster

import (
	"context"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// StartForTest starts a cluster without a test, as a process that is about to be killed does.
func StartForTest(ctx context.Context) (*Cluster, error) {
	return start(ctx, Options{Nodes: 1})
}

// MarkerOf is the marker of all processes of the cluster.
func (c *Cluster) MarkerOf() string {
	return watchdog.Marker(markerKey, filepath.Dir(c.Kubeconfig))
}

// MarkerPrefix begins every marker of this package.
const MarkerPrefix = markerKey + "="
