package app

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// addStore adds the store to the manager. Every replica prepares the schema, so that a
// standby is ready for failover; the leader determines the incarnation before its
// controllers may write.
func addStore(rt *service.Runtime, store *mysql.Storage, watch *incarnation.Watch) error {
	if err := rt.Add(everywhere(func(ctx context.Context) error {
		if err := store.Prepare(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		<-ctx.Done()
		return store.Close()
	})); err != nil {
		return fmt.Errorf("add the store: %w", err)
	}
	settle := &settler{rt: rt, store: store, watch: watch}
	if err := rt.Add(manager.RunnableFunc(settle.run)); err != nil {
		return fmt.Errorf("add the incarnation: %w", err)
	}
	return nil
}

// everywhere is a runnable of every replica, not only of the leader.
type everywhere func(context.Context) error

// Start implements manager.Runnable.
func (e everywhere) Start(ctx context.Context) error { return e(ctx) }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }

// settler reads the resource version of the cluster, determines the incarnation, and then
// watches whether the cluster is restored to an earlier state.
type settler struct {
	rt    *service.Runtime
	store *mysql.Storage
	watch *incarnation.Watch
}

const settlePause = 2 * time.Second

func (s *settler) run(ctx context.Context) error {
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
		if reason != err.Error() {
			reason = err.Error()
			s.rt.Log.Info("Waiting to settle the incarnation", "reason", reason)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.rt.Clock.After(settlePause):
		}
	}
}

// once determines the incarnation, and returns the position of the cluster and the incarnation to write with.
func (s *settler) once(ctx context.Context) (cluster incarnation.Cluster, current int64, err error) {
	cluster, err = incarnation.Position(ctx, s.watch.Live, s.watch.Kinds, s.watch.Namespaces)
	if err != nil {
		return cluster, 0, err
	}
	if err := s.store.SettleFor(ctx, cluster.UID, cluster.ResourceVersion); err != nil {
		return cluster, 0, err
	}
	current, err = incarnation.Current(ctx, s.watch.DB, cluster.UID)
	return cluster, current, err
}
