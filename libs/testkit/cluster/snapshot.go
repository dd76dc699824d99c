package cluster

import (
	"context"
	"path/filepath"
	"testing"
	"time"
)

// restartTimeout bounds a stop and a start.
const restartTimeout = 5 * time.Minute

// Snapshot is the state of a cluster at one moment.
type Snapshot struct{ dir string }

// Save copies the state of the cluster, like a backup of etcd. The control plane is down during the copy, so use it
// only for private clusters; see Private.
func (c *Cluster) Save(t testing.TB) Snapshot {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "etcd")
	ctx, cancel := context.WithTimeout(t.Context(), restartTimeout)
	defer cancel()
	if err := c.plane.Save(ctx, dir); err != nil {
		t.Fatal(err)
	}
	return Snapshot{dir: dir}
}

// Restore returns the cluster to a snapshot: it undoes later creations, updates and deletions, and resource versions
// continue from the snapshot. Connections break.
func (c *Cluster) Restore(t testing.TB, s Snapshot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), restartTimeout)
	defer cancel()
	if err := c.plane.Restore(ctx, s.dir); err != nil {
		t.Fatal(err)
	}
}
