package cluster

import (
	"context"
	"path/filepath"

	"github.com/flotilla-dev/flotilla/libs/testkit/watchdog"
)

// StartForTest starts a cluster without a test, for a process that is killed later.
func StartForTest(ctx context.Context) (*Cluster, error) {
	return start(ctx, Options{Nodes: 1})
}

// MarkerOf returns the marker of all processes of the cluster.
func (c *Cluster) MarkerOf() string {
	return watchdog.Marker(markerKey, filepath.Dir(c.Kubeconfig))
}

// MarkerPrefix begins every marker of this package.
const MarkerPrefix = markerKey + "="
