package app

import (
	"context"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/service"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// addStore lets the store live with the manager: every replica prepares the schema,
// so that it is ready to take over; the leader settles the incarnation before its
// controllers may write.
func addStore(rt *service.Runtime, store *mysql.Storage) error {
	if err := rt.Add(everywhere(func(ctx context.Context) error {
		if err := store.Prepare(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		<-ctx.Done()
		return store.Close()
	})); err != nil {
		return fmt.Errorf("add the store: %w", err)
	}
	settle := &settler{rt: rt, store: store}
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

// settler asks the cluster how far it has come, and settles the incarnation.
type settler struct {
	rt    *service.Runtime
	store *mysql.Storage
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
		err := s.once(ctx)
		if err == nil {
			return nil
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

func (s *settler) once(ctx context.Context) error {
	reader := s.rt.GetAPIReader()
	var system metav1.PartialObjectMetadata
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := reader.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &system); err != nil {
		return fmt.Errorf("read namespace %s: %w", metav1.NamespaceSystem, err)
	}
	version, err := s.newest(ctx, reader)
	if err != nil {
		return err
	}
	return s.store.SettleFor(ctx, string(system.GetUID()), version)
}

// newest returns the version of a fresh list, which is that of the whole cluster.
func (s *settler) newest(ctx context.Context, reader client.Reader) (int64, error) {
	kinds, err := registry.Load()
	if err != nil {
		return 0, err
	}
	gvk := kinds.Kinds()[0].GVK()
	var list metav1.PartialObjectMetadataList
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	options := []client.ListOption{client.Limit(1)}
	if namespaces := s.rt.Options.WatchNamespaces; len(namespaces) > 0 {
		options = append(options, client.InNamespace(namespaces[0]))
	}
	if err := reader.List(ctx, &list, options...); err != nil {
		return 0, fmt.Errorf("list %s: %w", gvk.Kind, err)
	}
	version, err := strconv.ParseInt(list.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("resource version of a list: %w", err)
	}
	return version, nil
}
