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

// Save copies the state of the cluster, as a backup of etcd does. The control plane is down meanwhile. It is for
// clusters of one test; see Private.
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

// Restore takes the cluster back to a snapshot: what was created since is gone, what was deleted since is back, and
// resource versions count on from then. Connections break.
func (c *Cluster) Restore(t testing.TB, s Snapshot) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), restartTimeout)
	defer cancel()
	if err := c.plane.Restore(ctx, s.dir); err != nil {
		t.Fatal(err)
	}
}
