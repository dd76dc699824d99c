package checkpoint

import "context"

// Complete compares the current numbers, and reports whether they show that the database has every completed eviction.
// They do not if the copy in the cluster was deleted, or its permission is missing. The error is that of Check.
func (k *Tracker) Complete(ctx context.Context) (bool, error) {
	if err := k.Check(ctx); err != nil {
		return false, err
	}
	k.mu.Lock()
	highest, unprotected := k.highest, len(k.missing) > 0
	k.mu.Unlock()
	if unprotected || k.cfg.Cluster.Namespace == "" {
		return false, nil
	}
	if highest > 0 {
		return true, nil
	}
	database, err := Stored(ctx, k.cfg.DB)
	return database == 0, err
}
