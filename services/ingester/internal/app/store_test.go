package app

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/flotilla-dev/flotilla/libs/kube/service"
	"github.com/flotilla-dev/flotilla/libs/testkit/expect"

	"github.com/flotilla-dev/flotilla/services/ingester/internal/dbtest"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/incarnation"
	"github.com/flotilla-dev/flotilla/services/ingester/internal/registry"
	"github.com/flotilla-dev/flotilla/services/ingester/storage/mysql"
)

// fakeManager keeps the runnables.
type fakeManager struct {
	ctrl.Manager
	added []manager.Runnable
}

// Elected implements ctrl.Manager.
func (*fakeManager) Elected() <-chan struct{} { return nil }

func (m *fakeManager) Add(r manager.Runnable) error {
	m.added = append(m.added, r)
	return nil
}

// A manager ends the runnables of all replicas before the controllers, which still write.
func TestStoreIsClosedAfterRunnables(t *testing.T) {
	store, err := mysql.Open(t.Context(), mysql.Options{DSN: "user:secret@tcp(127.0.0.1:1)/michelangelo", Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	closed := func() bool {
		err := store.DB().PingContext(t.Context())
		return err != nil && strings.Contains(err.Error(), "database is closed")
	}
	mgr := &fakeManager{}
	rt := &service.Runtime{Manager: mgr, Log: logr.Discard()}
	if err := addStore(rt, store, &incarnation.Watch{APIReader: &fakeReader{}, Kinds: &registry.Registry{}, DB: store.DB(), Clock: clock.RealClock{}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // no runnable reaches a server
	for _, r := range mgr.added {
		if err := r.Start(ctx); err != nil {
			t.Error(err)
		}
	}
	if closed() {
		t.Error("the store is closed before the manager has returned")
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if !closed() {
		t.Error("the store is not closed at the exit")
	}
}

// fakeReader reads a cluster at one version.
type fakeReader struct{ version string }

func (r *fakeReader) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetUID("cluster-uid")
	return nil
}

func (r *fakeReader) List(_ context.Context, l client.ObjectList, _ ...client.ListOption) error {
	l.SetResourceVersion(r.version)
	return nil
}

// A standby whose cluster was restored must not write from its caches, which have later versions.
func TestStaleStandbyDoesNotLead(t *testing.T) {
	_, dsn := dbtest.Migrated(t)
	store, err := mysql.Open(t.Context(), mysql.Options{DSN: dsn, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	kinds, err := registry.Load()
	if err != nil {
		t.Fatal(err)
	}
	reader := &fakeReader{version: "200"}
	watch := &incarnation.Watch{DB: store.DB(), Kinds: kinds, APIReader: reader, Clock: clock.RealClock{}, Log: logr.Discard()}
	if err := watch.CheckFollowed(t.Context()); err != nil {
		t.Fatal(err)
	}
	reader.version = "100"
	resolver := &incarnationResolver{rt: &service.Runtime{Log: logr.Discard(), Clock: clock.RealClock{}}, store: store, watch: watch}
	ctx, cancel := context.WithTimeout(t.Context(), expect.Long)
	defer cancel()
	if err := resolver.run(ctx); !errors.Is(err, incarnation.ErrClusterRestored) {
		t.Errorf("ended with %v", err)
	}
	if own, _, err := incarnation.Stored(t.Context(), store.DB(), "cluster-uid", ""); err != nil || own.Valid {
		t.Errorf("incarnation %v, %v, want none", own, err)
	}
}
