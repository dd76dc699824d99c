package incarnation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// followed is the newest state of the cluster that a process has seen before it leads.
type followed struct {
	Cluster
	incarnation sql.NullInt64
}

// Follow checks the cluster until the process leads, or ctx ends. After a restore it returns ErrClusterRestored: the caches of a
// standby are as invalid as those of the leader. It leaves the bump of the incarnation to the leader.
func (w *Watch) Follow(ctx context.Context, leads <-chan struct{}) error {
	for {
		err := w.CheckFollowed(ctx)
		switch {
		case errors.Is(err, ErrClusterRestored):
			return err
		case err != nil && ctx.Err() == nil:
			w.Metrics.Errors.WithLabelValues("kubernetes", "incarnation").Inc()
			w.Log.V(1).Info("Failed to check for a restore of the cluster", "reason", err.Error())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-leads:
			return nil
		case <-w.Clock.After(checkInterval):
		}
	}
}

// CheckFollowed returns ErrClusterRestored if the cluster was restored since this process began: its version is lower than before,
// it is another cluster, or a leader bumped the incarnation. A new leader calls it before its first write.
func (w *Watch) CheckFollowed(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	w.followMu.Lock()
	defer w.followMu.Unlock()
	now, err := position(ctx, w.APIReader, w.Kinds, w.Namespaces)
	if err != nil {
		return err
	}
	last := w.followed
	switch {
	case last.UID != "" && last.UID != now.UID:
		return fmt.Errorf("%w: namespace kube-system has uid %s after %s", ErrClusterRestored, now.UID, last.UID)
	case now.ResourceVersion < last.ResourceVersion:
		return fmt.Errorf("%w: resource version %d after %d", ErrClusterRestored, now.ResourceVersion, last.ResourceVersion)
	}
	w.followed.Cluster = now
	own, _, err := Stored(ctx, w.DB, now.UID, "")
	if err != nil {
		return err
	}
	if last.incarnation.Valid && own != last.incarnation {
		return fmt.Errorf("%w: incarnation %d after %d", ErrClusterRestored, own.Int64, last.incarnation.Int64)
	}
	w.followed.incarnation = own
	return nil
}
