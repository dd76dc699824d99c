package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// addStore adds the store to the manager. Every replica prepares the schema, so that a
// standby is ready for failover; the leader resolves the incarnation before its
// controllers may write. The store is closed after the controllers have ended, which write until then.
func addStore(rt *service.Runtime, store *mysql.Storage, watch *incarnation.Watch) error {
	rt.AtExit(func(ctx context.Context) error { return closeStore(ctx, store) })
	if err := rt.Add(nonLeaderRunnable(func(ctx context.Context) error {
		if err := store.Prepare(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		return nil
	})); err != nil {
		return fmt.Errorf("add store: %w", err)
	}
	if err := rt.Add(nonLeaderRunnable(func(ctx context.Context) error { return watch.Follow(ctx, rt.Elected()) })); err != nil {
		return fmt.Errorf("add standby watch: %w", err)
	}
	resolver := &incarnationResolver{rt: rt, store: store, watch: watch}
	if err := rt.Add(manager.RunnableFunc(resolver.run)); err != nil {
		return fmt.Errorf("add incarnation resolver: %w", err)
	}
	return nil
}

// closeStore closes the store, which waits for its last transactions, until ctx ends.
func closeStore(ctx context.Context, store *mysql.Storage) error {
	closed := make(chan error, 1)
	go func() { closed <- store.Close() }()
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("close store: %w", ctx.Err())
	}
}

// nonLeaderRunnable is a runnable that every replica starts, not only the leader.
type nonLeaderRunnable func(context.Context) error

// Start implements manager.Runnable.
func (r nonLeaderRunnable) Start(ctx context.Context) error { return r(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (nonLeaderRunnable) NeedLeaderElection() bool { return false }

// incarnationResolver reads the resource version of the cluster, resolves the incarnation, and
// then watches for a restore of the cluster to an earlier state. After a restore that happened while the process was a standby, it
// ends the process instead: its caches are from before.
type incarnationResolver struct {
	rt    *service.Runtime
	store *mysql.Storage
	watch *incarnation.Watch
}

const resolveRetryInterval = 2 * time.Second

func (s *incarnationResolver) run(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.store.Prepared():
	}
	reason := ""
	for {
		cluster, current, err := s.once(ctx)
		if err == nil {
			return s.watch.Run(ctx, cluster, current)
		}
		if errors.Is(err, incarnation.ErrClusterRestored) {
			return err
		}
		if reason != err.Error() {
			reason = err.Error()
			s.rt.Log.Info("Waiting for the incarnation", "reason", reason)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.rt.Clock.After(resolveRetryInterval):
		}
	}
}

// once resolves the incarnation, and returns the position of the cluster and the incarnation to write with.
func (s *incarnationResolver) once(ctx context.Context) (cluster incarnation.Cluster, current int64, err error) {
	if err := s.watch.CheckFollowed(ctx); err != nil {
		return cluster, 0, err
	}
	if cluster.UID, err = incarnation.ClusterUID(ctx, s.watch.APIReader); err != nil {
		return cluster, 0, err
	}
	current, err = s.store.ResolveIncarnation(ctx, cluster.UID, func(ctx context.Context) (version int64, err error) {
		version, err = incarnation.ClusterVersion(ctx, s.watch.APIReader, s.watch.Kinds, s.watch.Namespaces)
		cluster.ResourceVersion = version
		return version, err
	})
	return cluster, current, err
}
