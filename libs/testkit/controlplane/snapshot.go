package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// dataDir is the data directory of etcd.
func (c *Cluster) dataDir() string { return filepath.Join(c.clusterDir(), "etcd") }

// Save stops the cluster, copies the data of etcd to a directory that must not exist yet, and starts the cluster
// again.
func (c *Cluster) Save(ctx context.Context, to string) error {
	if err := c.Stop(ctx); err != nil {
		return fmt.Errorf("save cluster %q: %w", c.Name, err)
	}
	err := os.CopyFS(to, os.DirFS(c.dataDir()))
	if err != nil {
		err = fmt.Errorf("save cluster %q: %w", c.Name, err)
	}
	return errors.Join(err, c.Start(ctx))
}

// Restore stops the cluster, replaces etcd's data with the copy of Save, and starts the cluster again. Objects and
// resource versions are those of the copy.
func (c *Cluster) Restore(ctx context.Context, from string) error {
	if _, err := os.Stat(from); err != nil {
		return fmt.Errorf("restore cluster %q: %w", c.Name, err)
	}
	if err := c.Stop(ctx); err != nil {
		return fmt.Errorf("restore cluster %q: %w", c.Name, err)
	}
	if err := os.RemoveAll(c.dataDir()); err != nil {
		return fmt.Errorf("restore cluster %q: %w", c.Name, err)
	}
	if err := os.CopyFS(c.dataDir(), os.DirFS(from)); err != nil {
		return fmt.Errorf("restore cluster %q: %w", c.Name, err)
	}
	if err := os.Chmod(c.dataDir(), 0o700); err != nil { // etcd requires these permissions
		return fmt.Errorf("restore cluster %q: %w", c.Name, err)
	}
	return c.Start(ctx)
}
